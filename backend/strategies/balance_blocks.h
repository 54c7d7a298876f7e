// Block level of balancing: which blocks of queries, or of keys, each rank of a ring holds while it attends.
//
// Blocks stay whole, and every rank keeps as many as it had, so that tiles and memory stay as they are. Rows and
// columns are divided independently, each by a one-dimensional weight: only the marginals of the tile loads are
// balanced. Moving blocks costs an exchange before the ring and one of O after it; the reward makes blocks stay. The
// method is that of db-SP (arXiv 2511.23113, `hybrid_permute_v4` of thu-nics/db-SP f13ced5).
#pragma once

#include "backend/strategies/index_groups.h"

namespace spscope {

// db-SP's biased greedy: the heaviest block first, each to the rank with the smallest cost that still
// has room; cost is the sum so far, less `reward` x the block's own weight at its home. Ties: the lower block, the
// lower rank. Room is the home count (even_groups), so that the ring degree need not divide the blocks. REQUIRES:
// num_groups >= 1, reward >= 0.
IndexGroups balance_blocks(std::span<const std::int64_t> weights, int num_groups, double reward);

// [from][to]: number of blocks that move from their home rank to their rank in `groups`; those of the diagonal stay.
using TransferMatrix = std::vector<std::vector<std::int32_t>>;
TransferMatrix transfer_matrix(const IndexGroups& home, const IndexGroups& groups);
// Share of blocks that change rank, 0 to 1.
double moved_fraction(const TransferMatrix& transfers);

}  // namespace spscope
