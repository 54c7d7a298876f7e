// Imbalance ratios of a plan, all >= 1: the time of its attention over that of an even split, under four models of
// waiting. `work` is by OpId, in any unit (area, tiles, nanoseconds); only attends count.
//
//   plain     max over ranks / mean over ranks of a rank's total: no rank waits before the end
//   barrier   ranks of a ring wait for each other after each ring step, rings do not: max over ring groups of
//             (sum over ring steps of the max inside the group) / mean; hybrid_imbalance_ratio of db-SP f13ced5
//   barrier_all_ranks   sum over ring steps of the max over all ranks / mean; as db-SP's text (arXiv 2511.23113)
//   coupled   ranks wait only for data that they need: the makespan of the attends on a network that takes no time /
//             mean. For a ring, rank r starts step s + 1 at max(end(r, s), start(r - 1, s), start(r + 1, s))
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/plan/plan.h"

namespace spscope {

struct ImbalanceRatios {
  double plain = 1, barrier = 1, barrier_all_ranks = 1, coupled = 1;
};

// All 1 when there is no work. REQUIRES: verify(plan) is empty, work.size() == plan.ops.size(), work >= 0.
ImbalanceRatios imbalance_ratios(const Plan& plan, std::span<const std::int64_t> work);

// The plain ratio alone, without running a schedule.
double plain_imbalance_ratio(const Plan& plan, std::span<const std::int64_t> work);

// Active (head, query, key) triples by OpId, 0 for all but attends: the work of a kernel that skips inactive tiles.
std::vector<std::int64_t> attended_area(const Plan& plan);

// The ring group of each rank, numbered from 0 in order of their lowest rank.
//
// Rings are identified by their moves: of a value of queries or keys that is first attended in a ring step after 0.
// Ranks between which such a value (or a base of it, when it is a view) moves are in one group. So the all-to-alls of
// Ulysses, which feed step 0, join no ranks; hops of a ring, of a double ring and the travelling queries of TokenRing
// do. A rank without such a move is a group of its own.
std::vector<int> ring_groups(const Plan& plan);

}  // namespace spscope
