// Attention of one head in double precision by plain loops over a dense mask: the oracle of every attention kernel.
#pragma once

#include <vector>

#include "kernels/attention.h"

namespace spscope::kernels {

// Rows in double precision, as RowState holds them.
struct ReferenceRows {
  int head_dim = 0;
  std::vector<double> out;               // [rows, head_dim], already divided by the sum; zeros for rows without keys
  std::vector<double> row_max, row_sum;  // [rows]; (-inf, 0) for rows without keys
  // [rows]: of the scores of a row, the largest sum of absolute products, scale sum_i |q_i k_i|; 0 without keys.
  std::vector<double> largest_products;
  // [rows]: how much values cancel: sum of (weight |v|)^2 over |out|^2, weights with sum 1; 0 without keys.
  std::vector<double> cancellation;
};

// All rows of task.q, one q block after the other. task.state is not read. The mask is expanded to one flag per pair of
// q block and k block, so k_block may be in any order.
ReferenceRows reference_attention(const AttentionTask& task);

}  // namespace spscope::kernels
