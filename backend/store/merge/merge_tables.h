// What a merge does with each table of the schema: a table is copied from the head, gathered from all shards, or made
// anew. A new table needs a row in the list of merge_tables.cpp; a test fails while it has none.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/store/merge/merge_clock.h"
#include "backend/store/merge/merge_input.h"

namespace spscope {

enum class MergeRule {
  kHead,  // the rows of the head
  kAll,   // the rows of all shards; of rows with one key, the first, beginning with the head
  kMade,  // made by the merge itself
};
struct MergedTable {
  std::string_view name;
  MergeRule rule;
};
std::span<const MergedTable> merged_tables();

// Copies every table but those that the merge makes itself, and what `meta` of the head says of the run; puts the
// repeats of the ranks on the run clock, and gives each repeat the time from the first begin to the last end of
// its ranks, where these are known.
void merge_tables(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks, Damage& damage);

}  // namespace spscope
