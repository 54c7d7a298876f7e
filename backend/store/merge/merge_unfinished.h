// What was still going on when recording stopped: an event for each op that a now page names and no event tells of.
#pragma once

#include "backend/store/merge/merge_events.h"

namespace spscope {

// Adds them to the tracks of their lanes, which are made where there are none. `name` gives the number of a name in
// the output, which has the plans already.
void add_unfinished_ops(Database& out, std::vector<MergedTrack>& tracks, std::span<const MergeSource> sources,
                        const std::function<NameId(const std::string&)>& name);

}  // namespace spscope
