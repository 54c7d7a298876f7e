// The ranks of processes that nobody planned, which their shards do not know: each says only what the process said
// (store/shard_process.h). They are decided over all of them (record/process_ranks.h) before anything is merged.
#pragma once

#include <span>
#include <vector>

#include "backend/store/merge/merge_input.h"
#include "backend/store/merge/merge_shards.h"

namespace spscope {

// Decides, and gives the tracks of their shards these ranks.
MergedRanks give_ranks(std::vector<MergeSource>& sources);

// After the tables were copied: says which process each rank was, how many there are, and what gave them.
void write_ranks(Database& out, std::span<const MergeSource> sources, const MergedRanks& ranks);

}  // namespace spscope
