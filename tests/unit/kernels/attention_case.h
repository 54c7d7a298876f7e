// A small attention problem for the kernel tests: random Q, K, V in either storage type with strided rows, a random
// block mask, and states inside guard zones that show writes out of place.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/base/rng.h"
#include "kernels/attention.h"
#include "kernels/reference.h"

namespace spscope::kernels {

inline constexpr float kSentinel = -12345.5f;

// NMSE of fp32 arithmetic against double precision; bf16 storage is exact in both, so the bound is the same.
inline constexpr double kMaxNmse = 1e-10;

struct CaseShape {
  Dtype dtype = Dtype::kFp32;
  int head_dim = 16;
  std::vector<std::int32_t> q_rows = {16, 16}, k_rows = {16, 16};  // rows of each block
  double density = 1;
  double score_spread = 2;       // standard deviation of the scores, about
  std::int64_t row_padding = 0;  // elements between the end of a row and the next row
  std::uint64_t seed = 1;
};

// Random rows of one tensor (mean 0, variance 1), in fp32 or bf16, cut into blocks.
class CaseRows {
 public:
  CaseRows(Dtype dtype, int head_dim, const std::vector<std::int32_t>& block_rows, std::int64_t stride, Rng& rng) {
    std::int64_t num_rows = 0;
    for (const std::int32_t rows : block_rows) num_rows += rows;
    // The last row ends where the memory ends, so that a sanitizer sees a read beyond it.
    const std::int64_t count = (num_rows - 1) * stride + head_dim;
    floats_.resize(dtype == Dtype::kFp32 ? count : 0);
    halves_.resize(dtype == Dtype::kBf16 ? count : 0);
    for (float& x : floats_) x = uniform(rng);
    for (Bf16& x : halves_) x = to_bf16(uniform(rng));
    std::int64_t row = 0;
    for (const std::int32_t rows : block_rows) {
      const void* first = dtype == Dtype::kFp32 ? static_cast<const void*>(floats_.data() + row * stride)
                                                : static_cast<const void*>(halves_.data() + row * stride);
      blocks_.push_back({first, rows, stride});
      row += rows;
    }
  }
  const std::vector<RowBlock>& blocks() const { return blocks_; }

 private:
  static float uniform(Rng& rng) { return static_cast<float>((2 * rng.uniform() - 1) * std::sqrt(3.0)); }

  std::vector<float> floats_;
  std::vector<Bf16> halves_;
  std::vector<RowBlock> blocks_;
};

// States of all q blocks with `guard` sentinels before, between and after the rows.
class CaseStates {
 public:
  CaseStates(const std::vector<std::int32_t>& q_rows, int head_dim, std::int64_t guard)
      : head_dim_(head_dim), guard_(guard), stride_(head_dim + guard), q_rows_(q_rows) {
    for (const std::int32_t rows : q_rows) num_rows_ += rows;
    out_.assign(guard + num_rows_ * stride_, kSentinel);
    for (std::vector<float>* per_row : {&row_max_, &row_sum_}) per_row->assign(guard + num_rows_ + guard, kSentinel);
    std::int64_t row = 0;
    for (const std::int32_t rows : q_rows) {
      blocks_.push_back(
          {out_.data() + guard + row * stride_, row_max_.data() + guard + row, row_sum_.data() + guard + row, stride_});
      clear_rows(rows, head_dim, blocks_.back());
      row += rows;
    }
  }
  CaseStates(const CaseStates&) = delete;

  const std::vector<RowState>& blocks() const { return blocks_; }
  float out(std::int64_t row, int i) const { return out_[guard_ + row * stride_ + i]; }
  float row_max(std::int64_t row) const { return row_max_[guard_ + row]; }
  float row_sum(std::int64_t row) const { return row_sum_[guard_ + row]; }
  std::int64_t num_rows() const { return num_rows_; }

  bool guards_intact() const {
    bool intact = true;
    for (std::int64_t i = 0; i < guard_; ++i) {
      intact &= out_[i] == kSentinel && row_max_[i] == kSentinel && row_sum_[i] == kSentinel;
      intact &= row_max_[guard_ + num_rows_ + i] == kSentinel && row_sum_[guard_ + num_rows_ + i] == kSentinel;
      for (std::int64_t row = 0; row < num_rows_; ++row) {
        intact &= out_[guard_ + row * stride_ + head_dim_ + i] == kSentinel;
      }
    }
    return intact;
  }

  // Rows divided by their sum, in fp32: [rows, head_dim].
  std::vector<float> finished() const {
    std::vector<float> result(num_rows_ * head_dim_);
    std::int64_t row = 0;
    for (std::size_t q_block = 0; q_block < blocks_.size(); ++q_block) {
      finish_rows(Dtype::kFp32, head_dim_, blocks_[q_block],
                  {result.data() + row * head_dim_, q_rows_[q_block], head_dim_});
      row += q_rows_[q_block];
    }
    return result;
  }

 private:
  int head_dim_;
  std::int64_t guard_, stride_, num_rows_ = 0;
  std::vector<std::int32_t> q_rows_;
  std::vector<float> out_, row_max_, row_sum_;
  std::vector<RowState> blocks_;
};

// The inputs of a problem and its block mask.
class AttentionCase {
 public:
  explicit AttentionCase(const CaseShape& shape)
      : shape_(shape),
        rng_(shape.seed),
        q_(shape.dtype, shape.head_dim, shape.q_rows, shape.head_dim + shape.row_padding, rng_),
        k_(shape.dtype, shape.head_dim, shape.k_rows, shape.head_dim + shape.row_padding, rng_),
        v_(shape.dtype, shape.head_dim, shape.k_rows, shape.head_dim + shape.row_padding, rng_) {
    for (std::size_t q_block = 0; q_block < shape.q_rows.size(); ++q_block) {
      row_begin_.push_back(static_cast<std::int32_t>(k_block_.size()));
      for (std::size_t k_block = 0; k_block < shape.k_rows.size(); ++k_block) {
        if (rng_.uniform() < shape.density) k_block_.push_back(static_cast<std::int32_t>(k_block));
      }
    }
    row_begin_.push_back(static_cast<std::int32_t>(k_block_.size()));
  }

  CaseStates fresh_states(std::int64_t guard = 0) const { return CaseStates(shape_.q_rows, shape_.head_dim, guard); }

  AttentionTask task(const CaseStates& states) const {
    // q . k has the standard deviation sqrt(head_dim).
    const float scale = static_cast<float>(shape_.score_spread / std::sqrt(static_cast<double>(shape_.head_dim)));
    return {shape_.dtype, shape_.head_dim, scale,      q_.blocks(), states.blocks(),
            k_.blocks(),  v_.blocks(),     row_begin_, k_block_};
  }
  const std::vector<std::int32_t>& row_begin() const { return row_begin_; }
  const std::vector<std::int32_t>& k_block() const { return k_block_; }
  const CaseShape& shape() const { return shape_; }

 private:
  CaseShape shape_;
  Rng rng_;
  CaseRows q_, k_, v_;
  std::vector<std::int32_t> row_begin_, k_block_;
};

// Sum of squared differences over the sum of squares of `expected`; infinite when one is NaN; the plain sum where
// nothing but zeros is expected.
inline double nmse(const std::vector<float>& actual, const std::vector<double>& expected) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  const double ratio = norm > 0 ? error / norm : error;
  return ratio >= 0 ? ratio : std::numeric_limits<double>::infinity();
}

}  // namespace spscope::kernels
