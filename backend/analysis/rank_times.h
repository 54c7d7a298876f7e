// The time of each rank along one timeline, by activity: the terms of time_terms.h, summed up by column.
//
// The makespan is divided for each rank, without overlap or gap:
//   compute          an op of its compute lane ran
//   wait_late_peer   no compute ran and no data moved, but one of its communications waited for a partner to post
//   wire             no compute ran, and one of its transfers was moving data (all partners had posted)
//   other            none of these: dependencies on its own lanes, a late start, or its work was done and others ran on
// exposed_comm is wire + wait_late_peer: communication that compute did not hide. Communication behind compute is
// counted as compute only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/analysis/time_terms.h"

namespace spscope {

struct RankTimes {
  std::vector<std::int64_t> compute_ns, wait_late_peer_ns, wire_ns, other_ns, exposed_comm_ns;  // by rank
};
// A part of the makespan: what tables call it, and the id of its definition, which is its key but for "_ns".
struct TimePart {
  const char *heading, *metric;
  std::vector<std::int64_t> RankTimes::*by_rank;
};
// By TimeColumn.
inline constexpr TimePart kTimeParts[kNumTimeColumns] = {{"compute", "compute", &RankTimes::compute_ns},
                                                         {"late peer", "wait_late_peer", &RankTimes::wait_late_peer_ns},
                                                         {"wire", "wire", &RankTimes::wire_ns},
                                                         {"other", "other", &RankTimes::other_ns}};

// Of a pass that was scheduled after others, `other` is the rest of the makespan that begins where the pass before
// ended, so that the parts of all passes add up to the whole. A rank that began the pass early used time of the pass
// before: in this pass alone, its `other` may then be below 0.
RankTimes rank_times(const PassDetail& detail);
// makespan_ns: nullopt is that of the timeline. REQUIRES: a timeline of this plan.
RankTimes rank_times(const Plan& plan, const Timeline& timeline, std::optional<std::int64_t> makespan_ns = {});

// Time in attention kernels, by rank.
std::vector<std::int64_t> attention_times(const Plan& plan, const Timeline& timeline);

}  // namespace spscope
