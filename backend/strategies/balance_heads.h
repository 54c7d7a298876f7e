// Head level of balancing: which heads each rank of a Ulysses group computes.
//
// All but deal_uncapped keep the number of heads of every rank, so that the all-to-all and the memory stay as even as
// without balancing; balancing moves no additional bytes. Weights are active areas of heads on the known mask.
#pragma once

#include "backend/strategies/index_groups.h"

namespace spscope {

// db-SP's partition (arXiv 2511.23113): the heaviest head first, each to the lightest rank that still has room; ties:
// the lower head, the lower rank. A rank has room for as many heads as an even cut would give it; db-SP's code
// (f13ced5, 2025-12) needs the degree to divide the heads, this does not. REQUIRES: num_groups >= 1.
IndexGroups balance_heads(std::span<const std::int64_t> weights, int num_groups);

// DSV's partition (arXiv 2502.07590): the heaviest head first, each to the lightest rank, whatever number it has; ties:
// the rank with fewer heads, the lower head, the lower rank. REQUIRES: num_groups >= 1.
IndexGroups deal_uncapped(std::span<const std::int64_t> weights, int num_groups);

// Local search: exchanges heads between groups, one pair at a time, the best one first, until no pair helps. A pair
// helps when the sums of its two groups come closer, so the largest sum never grows. Every exchange lowers the sum of
// squares of the sums, so the search ends.
IndexGroups refine_by_swaps(IndexGroups groups, std::span<const std::int64_t> weights);

// xDiT's head balancing (its pull request 727 of 2026-06): heads by descending weight are dealt to the ranks from left
// to right, then from right to left, and so on. xDiT needs the degree to divide the heads; this does not.
IndexGroups deal_snake(std::span<const std::int64_t> weights, int num_groups);

}  // namespace spscope
