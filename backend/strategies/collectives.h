// Collectives: how all-gathers, reduce-scatters and all-reduces are made of messages. A library chooses one of these
// algorithms by itself; here it is part of the plan, since bytes between nodes follow from it.
//
// Bytes that leave a node of p ranks, of N ranks in all, when M bytes are gathered or scattered:
//   ring          each part goes round, rank by rank: (N - 1) / N M, once into each node and once out of it
//   flat          each rank sends its part to every other: p (N - p) / N M
//   hierarchical  rings between ranks of equal place in their nodes, and rings inside nodes: (N - p) / N M; a gather
//                 starts between nodes, a scatter inside them
//   tree          pairs that are N / 2 apart, then N / 4, ...: log2(N) steps; a scatter takes them in reverse
//   (recursive
//                 doubling and halving: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication
//                 Operations in MPICH", 2005, sections 4.1 and 4.2). With p and N powers of two: (N - p) / N M. Other
//                 N: rings of their prime factors in place of pairs
#pragma once

#include <string_view>
#include <vector>

#include "backend/base/parameter.h"
#include "backend/plan/plan_builder.h"

namespace spscope {

enum class CollectiveAlgorithm { kRing, kFlat, kHierarchical, kTree };

// The parameter `collective` of a strategy, and its setting.
Parameter collective_parameter();
CollectiveAlgorithm collective_algorithm(const Parameters& parameters);
// Settings worth comparing: those that differ on this cluster.
std::vector<Parameters> collective_candidates(const Request& request, const std::vector<Parameter>& rows);

// Each rank of a group gets what all of its group hold of `rows`, in the boxes of `whole`; all groups in one post a
// hop. Hierarchical is a ring where nodes have different numbers of ranks of a group, or where groups lie differently
// on nodes. REQUIRES: groups of one size without common ranks; no two ranks of a group hold the same.
ValueId all_gather(PlanBuilder& builder, ValueId rows, const Placement& whole, const Groups& groups,
                   CollectiveAlgorithm algorithm);
// Each rank of the group gets the sums of the pending shares of the group in its part. REQUIRES: every rank of the
// group has one box in `parts`, or none.
ValueId reduce_scatter(PlanBuilder& builder, ValueId sum, const Placement& parts, const std::vector<int>& group,
                       CollectiveAlgorithm algorithm);
// reduce_scatter into `parts`, then all_gather into `whole`; to the network, one all-reduce.
ValueId all_reduce(PlanBuilder& builder, ValueId sum, const Placement& parts, const Placement& whole,
                   const std::vector<int>& group, CollectiveAlgorithm algorithm);

}  // namespace spscope
