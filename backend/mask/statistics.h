// Statistics of a block mask: density by head, row and column, and the imbalance when heads and blocks are cut into
// contiguous parts. Everything is computed from single bits, without BlockMask::count, so that it can serve as an
// independent check of plans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/mask/block_mask.h"

namespace spscope {

// Equal bins over [0, 1]; 1 itself falls in the last.
using Histogram = std::vector<std::int64_t>;
// REQUIRES: bins >= 1, values in [0, 1].
Histogram histogram(std::span<const double> values, int bins);

struct MaskStatistics {
  double density = 0;                // active share of (head, query, key) triples of tokens
  std::vector<double> head_density;  // by head, 0 to 1
  double head_cv = 0;                // coefficient of variation of head_density: standard deviation / mean
  std::vector<double> row_load;      // by query block: active share of keys, mean over heads
  std::vector<double> column_load;   // by key block: share of queries that attend to it, mean over heads
  Histogram head_histogram, row_histogram, column_histogram;  // 10 bins each
  std::int64_t active_tiles = 0;  // active (head, query block, key block) triples, of coarse blocks
  std::int64_t empty_rows = 0;    // (head, query block) pairs without any key: attention is undefined there
};
MaskStatistics describe(const BlockMask& mask);

// max / mean of the loads, 1 when all are 0. REQUIRES: loads not empty.
double imbalance_ratio(std::span<const double> loads);

// Imbalance of active area, in tokens, when rank (u, r) of a U x R grid holds heads [H u / U, H (u + 1) / U) and blocks
// [N r / R, N (r + 1) / R), and computes on the keys of rank (u, (r + s) mod R) in ring step s: the ratios of such a
// plan (schedule/imbalance.h). `barrier` equals hybrid_imbalance_ratio of db-SP f13ced5 where blocks have equal sizes,
// U divides the heads and R the blocks; that function counts tiles and drops remainders.
struct SplitImbalance {
  double plain = 1;              // total area: max over ranks / mean
  double barrier = 1;            // ranks of a ring group wait for each other in each step; slowest group / mean
  double barrier_all_ranks = 1;  // all ranks wait for each other in each step: the definition in the paper's text
};
// REQUIRES: 1 <= ulysses <= heads, 1 <= ring <= coarse blocks.
SplitImbalance split_imbalance(const BlockMask& mask, int ulysses, int ring);

// Shared active tiles / active tiles of either. REQUIRES: equal heads and coarse blocks.
double similarity(const BlockMask& a, const BlockMask& b);

}  // namespace spscope
