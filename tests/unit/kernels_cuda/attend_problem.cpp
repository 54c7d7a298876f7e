#include "tests/unit/kernels_cuda/attend_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/unit/kernels/attention_case.h"

namespace spscope::kernels::cuda {
namespace {

constexpr int kGuard = 8;  // floats after each row of `out`
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t total(const std::vector<std::int32_t>& rows) { return std::accumulate(rows.begin(), rows.end(), 0LL); }

}  // namespace

AttendProblem::AttendProblem(const ProblemShape& shape)
    : shape_(shape),
      rng_(shape.seed),
      num_q_(total(shape.q_rows)),
      num_k_(total(shape.k_rows)),
      scale_(static_cast<float>(2 / std::sqrt(static_cast<double>(shape.head_dim)))),
      q_(random_rows(num_q_)),
      k_(random_rows(num_k_)),
      v_(random_rows(num_k_)),
      finished_(q_.values().size(), std::byte{0xff}),
      out_(static_cast<std::size_t>(shape.heads * shape.sequences * num_q_ * (shape.head_dim + kGuard)), kSentinel),
      row_max_(static_cast<std::size_t>(shape.heads * shape.sequences * num_q_), kSentinel),
      row_sum_(row_max_.values().size(), kSentinel) {
  make_state();
  make_mask();
}

std::vector<std::byte> AttendProblem::random_rows(std::int64_t rows) {
  const std::int64_t count = rows * shape_.heads * shape_.sequences * shape_.head_dim;
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * dtype_bytes(shape_.dtype)));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>((2 * rng_.uniform() - 1) * std::sqrt(3.0));
    const Bf16 rounded = to_bf16(x);
    if (shape_.dtype == Dtype::kFp32)
      std::memcpy(bytes.data() + i * 4, &x, 4);
    else
      std::memcpy(bytes.data() + i * 2, &rounded, 2);
  }
  return bytes;
}

std::int64_t AttendProblem::place(int head, int sequence, std::int64_t row, std::int64_t rows) const {
  const std::int64_t at = shape_.interleaved ? (sequence * rows + row) * shape_.heads + head
                                             : (head * shape_.sequences + sequence) * rows + row;
  return at * shape_.head_dim;
}

std::int64_t AttendProblem::state_row(int head, int sequence, std::int64_t row) const {
  return (head * shape_.sequences + sequence) * num_q_ + row;
}

// Fresh rows hold NaN, which nobody may read; others a state that some have not begun.
void AttendProblem::make_state() {
  for (std::size_t row = 0; row < row_max_.values().size(); ++row) {
    float* const out = out_.data() + row * static_cast<std::size_t>(shape_.head_dim + kGuard);
    const bool begun = rng_.uniform() < 0.9;
    for (int i = 0; i < shape_.head_dim; ++i) {
      out[i] = shape_.fresh ? std::nanf("") : begun ? static_cast<float>(4 * rng_.uniform() - 2) : 0;
    }
    row_max_.data()[row] = shape_.fresh ? std::nanf("")
                           : begun      ? static_cast<float>(6 * rng_.uniform() - 3)
                                        : -INFINITY;
    row_sum_.data()[row] = shape_.fresh ? std::nanf("") : begun ? static_cast<float>(1 + 4 * rng_.uniform()) : 0;
  }
  out_before_ = out_.values();
  row_max_before_ = row_max_.values();
  row_sum_before_ = row_sum_.values();
}

void AttendProblem::make_mask() {
  for (int head = 0; head < shape_.heads; ++head) {
    std::vector<std::int32_t>& row_begin = row_begin_.emplace_back();
    std::vector<std::int32_t>& k_block = k_block_.emplace_back();
    for (std::size_t q = 0; q < shape_.q_rows.size(); ++q) {
      row_begin.push_back(static_cast<std::int32_t>(k_block.size()));
      for (std::size_t k = 0; k < shape_.k_rows.size(); ++k)
        if (rng_.uniform() < shape_.density) k_block.push_back(static_cast<std::int32_t>(k));
    }
    row_begin.push_back(static_cast<std::int32_t>(k_block.size()));
  }
}

std::vector<RowBlock> AttendProblem::blocks(const DeviceArray<std::byte>& rows, int head, int sequence,
                                            const std::vector<std::int32_t>& stretches) const {
  std::vector<RowBlock> blocks;
  std::int64_t row = 0;
  for (const std::int32_t count : stretches) {
    const std::int64_t at = place(head, sequence, row, total(stretches));
    blocks.push_back({rows.data() + at * dtype_bytes(shape_.dtype), count, row_stride()});
    row += count;
  }
  return blocks;
}

void AttendProblem::make_pieces(std::int32_t rows_per_block) {
  for (int head = 0; head < shape_.heads; ++head) {
    const auto first_tile = static_cast<std::int64_t>(tiles_.size());
    tiles_.insert(tiles_.end(), k_block_[head].begin(), k_block_[head].end());
    for (int sequence = 0; sequence < shape_.sequences; ++sequence) {
      const auto first_key = static_cast<std::int64_t>(keys_.size());
      const auto k = blocks(k_, head, sequence, shape_.k_rows), v = blocks(v_, head, sequence, shape_.k_rows);
      for (std::size_t i = 0; i < k.size(); ++i) keys_.push_back({k[i].data, v[i].data, row_stride(), k[i].rows, 0});
      std::int64_t row = 0;
      for (std::size_t q = 0; q < shape_.q_rows.size(); ++q) {
        const std::int64_t end = row + shape_.q_rows[q];
        for (; row < end; row = std::min<std::int64_t>(end, row + rows_per_block)) {
          AttendRows piece{};
          const std::int64_t state = state_row(head, sequence, row), at = place(head, sequence, row, num_q_);
          piece.q = q_.data() + at * dtype_bytes(shape_.dtype);
          piece.out = out_.data() + state * (shape_.head_dim + kGuard);
          piece.row_max = row_max_.data() + state;
          piece.row_sum = row_sum_.data() + state;
          if (shape_.finished) piece.finished = finished_.data() + at * dtype_bytes(shape_.dtype);
          piece.q_stride = piece.finished_stride = row_stride();
          piece.out_stride = shape_.head_dim + kGuard;
          piece.first_key = first_key;
          piece.tile_begin = first_tile + row_begin_[head][q];
          piece.num_tiles = row_begin_[head][q + 1] - row_begin_[head][q];
          piece.rows = static_cast<std::int32_t>(std::min<std::int64_t>(rows_per_block, end - row));
          piece.fresh = shape_.fresh ? 1 : 0;
          rows_.push_back(piece);
        }
      }
    }
  }
  std::ranges::stable_sort(rows_, std::greater{}, &AttendRows::num_tiles);
}

void AttendProblem::run(const AttendChoice& choice, const EmulatedKernel& kernel) {
  make_pieces(choice.rows_per_block);
  const DeviceArray<AttendRows> rows(rows_);
  const DeviceArray<AttendKeys> keys(keys_);
  const DeviceArray<std::int32_t> tiles(tiles_);
  const auto num_rows = static_cast<std::int32_t>(rows_.size());
  launch(kernel, num_rows, choice.kernel.threads, static_cast<std::size_t>(choice.kernel.shared_bytes),
         Attend{rows.data(), keys.data(), tiles.data(), num_rows, shape_.head_dim, scale_, 0});
}

// The reference's rows with the state before folded in.
ReferenceRows AttendProblem::expected(int head, int sequence) const {
  const auto q = blocks(q_, head, sequence, shape_.q_rows), k = blocks(k_, head, sequence, shape_.k_rows),
             v = blocks(v_, head, sequence, shape_.k_rows);
  ReferenceRows rows =
      reference_attention({shape_.dtype, shape_.head_dim, scale_, q, {}, k, v, row_begin_[head], k_block_[head]});
  if (shape_.fresh) return rows;
  for (std::int64_t row = 0; row < num_q_; ++row) {
    const std::int64_t state = state_row(head, sequence, row);
    const double before = row_max_before_[state], maximum = std::max(before, rows.row_max[row]);
    if (maximum == -kInfinity) continue;
    const double sum = rows.row_sum[row] * std::exp(rows.row_max[row] - maximum);
    const double weight = before == -kInfinity ? 0 : std::exp(before - maximum);
    rows.row_max[row] = maximum;
    rows.row_sum[row] = sum + weight * row_sum_before_[state];
    for (int i = 0; i < shape_.head_dim; ++i) {
      double& out = rows.out[row * shape_.head_dim + i];
      out = (out * sum + weight * out_before_[state * (shape_.head_dim + kGuard) + i]) / rows.row_sum[row];
    }
  }
  return rows;
}

AttendProblem::Outcome AttendProblem::compare() const {
  std::vector<float> actual;
  std::vector<double> wanted;
  Outcome outcome;
  for (int head = 0; head < shape_.heads; ++head)
    for (int sequence = 0; sequence < shape_.sequences; ++sequence) {
      const ReferenceRows rows = expected(head, sequence);
      std::int64_t row = 0;
      for (std::size_t q = 0; q < shape_.q_rows.size(); ++q)
        for (std::int32_t i = 0; i < shape_.q_rows[q]; ++i, ++row)
          compare_row(rows, head, sequence, row, row_begin_[head][q + 1] > row_begin_[head][q], actual, wanted,
                      outcome.wrong);
    }
  outcome.nmse = nmse(actual, wanted);
  return outcome;
}

void AttendProblem::compare_row(const ReferenceRows& expected, int head, int sequence, std::int64_t row, bool has_keys,
                                std::vector<float>& actual, std::vector<double>& wanted, std::string& wrong) const {
  const std::int64_t state = state_row(head, sequence, row), at = place(head, sequence, row, num_q_);
  const float* const out = out_.data() + state * (shape_.head_dim + kGuard);
  const float maximum = row_max_.data()[state], sum = row_sum_.data()[state];
  const auto fail = [&](const char* what) {
    if (wrong.empty())
      wrong = std::string(what) + ": head " + std::to_string(head) + ", sequence " + std::to_string(sequence) +
              ", row " + std::to_string(row);
  };
  for (int i = 0; i < kGuard; ++i)
    if (out[shape_.head_dim + i] != kSentinel) fail("written behind a row");
  const bool untouched = shape_.finished || (!shape_.fresh && !has_keys);
  if (untouched &&
      (std::memcmp(out, &out_before_[state * (shape_.head_dim + kGuard)], shape_.head_dim * 4) != 0 ||
       std::memcmp(&maximum, &row_max_before_[state], 4) != 0 || std::memcmp(&sum, &row_sum_before_[state], 4) != 0))
    fail("state that should stay as it was");
  const double wanted_max = expected.row_max[row], wanted_sum = expected.row_sum[row];
  if (!shape_.finished) {
    const bool empty = wanted_max == -kInfinity;
    if (empty ? maximum != -kInfinity || sum != 0 : !(std::abs(maximum - wanted_max) <= 1e-4)) fail("maximum");
    if (!empty && !(std::abs(sum - wanted_sum) <= 1e-4 * wanted_sum)) fail("sum");
  }
  for (int i = 0; i < shape_.head_dim; ++i) {
    float result = shape_.finished ? 0 : out[i] / (sum > 0 ? sum : 1);
    if (shape_.finished && shape_.dtype == Dtype::kFp32) std::memcpy(&result, finished_.data() + (at + i) * 4, 4);
    if (shape_.finished && shape_.dtype == Dtype::kBf16) {
      Bf16 stored;
      std::memcpy(&stored, finished_.data() + (at + i) * 2, 2);
      result = to_float(stored);
    }
    actual.push_back(result);
    wanted.push_back(expected.out[row * shape_.head_dim + i]);
  }
}

}  // namespace spscope::kernels::cuda
