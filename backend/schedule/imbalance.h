// Imbalance ratios of a plan: how much longer its attention takes than if the work were spread evenly. Always >= 1,
// never mixed under one name. `work` is by OpId, of any unit (area, tiles, nanoseconds); only attends count.
//
//   plain     max over ranks / mean over ranks of a rank's total: what no waiting at all would give
//   barrier   ranks of a ring wait for each other after each ring step, rings do not: max over ring groups of
//             (sum over ring steps of the max inside the group) / mean; what db-SP's code computes (db-sp.md 1.2)
//   barrier over all ranks   the paper's literal form (1.1): sum over ring steps of the max over all ranks / mean
//   coupled   ranks wait only for what they need: the makespan of the attends on a network that takes no time / mean;
//             for a ring, the recurrence of db-sp.md 8.2
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

// Active (head, query, key) triples by OpId, 0 for what is no attend: the work of a kernel that skips inactive tiles.
std::vector<std::int64_t> attended_area(const Plan& plan);

// The ring group of each rank, numbered from 0 in order of their lowest rank.
//
// A ring is known by what travels for it: a value of queries or keys that is first attended in a later ring step than
// 0. Ranks between which such a value (or the values it is a view of) was moved are in one group. So the all-to-alls of
// Ulysses, which feed step 0, join nobody; hops of a ring, of a double ring and the travelling queries of TokenRing do.
// A rank without such a move is a group of its own.
std::vector<int> ring_groups(const Plan& plan);

}  // namespace spscope
