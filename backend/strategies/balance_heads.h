// Head level of balancing: which heads each rank of a Ulysses group computes.
//
// All three keep the number of heads of every rank as it was, so that the all-to-all and the memory stay as even as
// without balancing; balancing costs no byte. Weights are active areas of heads, of whatever mask is known.
#pragma once

#include "backend/strategies/index_groups.h"

namespace spscope {

// db-SP's partition (db-sp.md 2.1): the heaviest head first, each to the lightest rank that still has room; ties: the
// lower head, the lower rank. A rank has room for as many heads as an even cut would give it; the released code needs
// the degree to divide the heads, this does not. REQUIRES: num_groups >= 1.
IndexGroups balance_heads(std::span<const std::int64_t> weights, int num_groups);

// Exchanges heads between groups, one pair at a time and the one that helps most first, until no pair helps (db-sp.md
// 8.3 point 3). A pair helps when the sums of its two groups come closer, so the largest sum never grows. Every
// exchange lowers the sum of squares of the sums, which is why it ends.
IndexGroups refine_by_swaps(IndexGroups groups, std::span<const std::int64_t> weights);

// xDiT's head balancing (systems.md 3.4): heads by descending weight are dealt to the ranks from left to right, then
// from right to left, and so on. xDiT needs the degree to divide the heads; dealing does not.
IndexGroups deal_snake(std::span<const std::int64_t> weights, int num_groups);

}  // namespace spscope
