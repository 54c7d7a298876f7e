// What a merge finds out over all processes of a program that nobody planned, since their shards say only what each
// process said (store/shard_process.h): their ranks, which are decided (record/process_ranks.h) before anything is
// merged, and when events were collected.
#pragma once

#include <span>
#include <vector>

#include "backend/store/merge/merge_clock.h"
#include "backend/store/merge/merge_input.h"
#include "backend/store/merge/merge_shards.h"

namespace spscope {

// Decides, and gives the tracks of their shards these ranks.
MergedRanks give_ranks(std::vector<MergeSource>& sources);

// After the tables were copied: says which process each rank was, how many there are, and what gave them.
void write_ranks(Database& out, std::span<const MergeSource> sources, const MergedRanks& ranks);
// Says when events were collected, by the shards of the processes, where the head does not: attach was killed before it
// could write the windows there.
void write_windows(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks);

}  // namespace spscope
