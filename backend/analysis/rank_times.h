// The time of each rank along one timeline, by activity.
//
// The makespan is divided for each rank, without overlap or gap:
//   compute          an op of its compute lane ran
//   wire             no compute ran, and one of its transfers was moving data (all partners had posted)
//   wait_late_peer   no compute ran and no data moved, but one of its communications waited for a partner to post
//   other            none of these: dependencies on its own lanes, a late start, or its work was done and others ran on
// exposed_comm is wire + wait_late_peer: communication that compute did not hide. Communication behind compute is
// counted as compute only.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/timeline.h"

namespace spscope {

struct RankTimes {
  std::vector<std::int64_t> compute_ns, wait_late_peer_ns, wire_ns, other_ns, exposed_comm_ns;  // by rank
};

// REQUIRES: a timeline of this plan.
RankTimes rank_times(const Plan& plan, const Timeline& timeline);
// Of one of several layer passes that were scheduled one after the other (schedule/layer_passes.h), whose makespan ends
// where the pass before ended: `other` is the rest of that makespan, so that the parts of all passes add up to the
// whole. A rank that began the pass early used time of the pass before: in this pass alone, its `other` may then be
// below 0.
RankTimes rank_times(const Plan& plan, const Timeline& timeline, std::int64_t makespan_ns);

// Time in attention kernels, by rank.
std::vector<std::int64_t> attention_times(const Plan& plan, const Timeline& timeline);

}  // namespace spscope
