// The double-precision oracle: dense mask, two passes over all keys of a row, nothing shared with the kernels.
#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace spscope::kernels {

namespace {

std::vector<double> dense_row(Dtype dtype, int head_dim, const RowBlock& block, std::int64_t row) {
  std::vector<double> values(head_dim);
  for (int i = 0; i < head_dim; ++i) {
    const std::int64_t index = row * block.stride + i;
    values[i] = dtype == Dtype::kFp32 ? static_cast<const float*>(block.data)[index]
                                      : to_float(static_cast<const Bf16*>(block.data)[index]);
  }
  return values;
}

struct Dense {
  std::vector<std::vector<double>> rows;
  std::vector<std::size_t> block;  // of each row
};

Dense dense_rows(const AttentionTask& task, std::span<const RowBlock> blocks) {
  Dense dense;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::int32_t row = 0; row < blocks[b].rows; ++row) {
      dense.rows.push_back(dense_row(task.dtype, task.head_dim, blocks[b], row));
      dense.block.push_back(b);
    }
  }
  return dense;
}

std::vector<bool> dense_mask(const AttentionTask& task) {
  std::vector<bool> active(task.q.size() * task.k.size(), false);
  for (std::size_t q_block = 0; q_block < task.q.size(); ++q_block) {
    for (std::int32_t i = task.row_begin[q_block]; i < task.row_begin[q_block + 1]; ++i) {
      active[q_block * task.k.size() + static_cast<std::size_t>(task.k_block[i])] = true;
    }
  }
  return active;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double absolute_dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] * b[i]);
  return sum;
}

}  // namespace

ReferenceRows reference_attention(const AttentionTask& task) {
  const Dense q = dense_rows(task, task.q), k = dense_rows(task, task.k), v = dense_rows(task, task.v);
  const std::vector<bool> active = dense_mask(task);
  ReferenceRows result{task.head_dim, std::vector<double>(q.rows.size() * task.head_dim, 0.0), {}, {}, {}, {}};
  std::vector<double> scores(k.rows.size());
  for (std::size_t row = 0; row < q.rows.size(); ++row) {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0, largest = 0, squares = 0;
    for (std::size_t key = 0; key < k.rows.size(); ++key) {
      const bool kept = active[q.block[row] * task.k.size() + k.block[key]];
      scores[key] = kept ? task.scale * dot(q.rows[row], k.rows[key]) : -std::numeric_limits<double>::infinity();
      maximum = std::max(maximum, scores[key]);
      if (kept) largest = std::max(largest, task.scale * absolute_dot(q.rows[row], k.rows[key]));
    }
    double* out = result.out.data() + row * task.head_dim;
    for (std::size_t key = 0; key < k.rows.size(); ++key) {
      if (scores[key] == -std::numeric_limits<double>::infinity()) continue;
      const double weight = std::exp(scores[key] - maximum);
      sum += weight;
      squares += weight * weight * dot(v.rows[key], v.rows[key]);
      for (int i = 0; i < task.head_dim; ++i) out[i] += weight * v.rows[key][i];
    }
    double square = 0;
    for (int i = 0; i < task.head_dim && sum > 0; ++i) {
      out[i] /= sum;
      square += out[i] * out[i];
    }
    result.cancellation.push_back(square > 0 ? squares / (sum * sum * square) : 0);
    result.row_max.push_back(maximum);
    result.row_sum.push_back(sum);
    result.largest_products.push_back(largest);
  }
  return result;
}

}  // namespace spscope::kernels
