// Runs that events belong to and that no shard tells of: the head was not given, or is damaged.
#pragma once

#include <span>

#include "backend/store/merge/merge_input.h"

namespace spscope {

// Drops runs whose strategy is lost, then gives each run that only events tell of a row as one that was begun and
// not finished, of a strategy "unknown" that cannot be compared, so that the events can be read. Their denoise step is
// the number of the run. Says so in the notes.
void add_missing_runs(Database& out, std::span<const MergeSource> sources, Damage& damage);

}  // namespace spscope
