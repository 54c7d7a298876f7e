#include "backend/execute/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "backend/base/rng.h"
#include "kernels/reference.h"

namespace spscope {
namespace {

constexpr double kToleranceFp32 = 1e-10, kToleranceBf16 = 5e-5;
// Multiply-adds that a sample may take, about a second in double precision.
constexpr std::int64_t kSampleBudget = 1'000'000'000;
constexpr std::int64_t kMaxSampleRows = 4096;
constexpr double kSmallestShareOfMean = 0.01;

AttendedAxis axis_of(int layer) { return layer == 1 ? AttendedAxis::kOuter : AttendedAxis::kInner; }

}  // namespace

double error_tolerance(Dtype dtype) { return dtype == Dtype::kFp32 ? kToleranceFp32 : kToleranceBf16; }

Reference::Reference(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed)
    : dtype_(request.dtype) {
  shape_.batch = activations.batch;
  shape_.heads = activations.heads;
  shape_.head_dim = activations.head_dim;
  shape_.outer_tokens = activations.outer_tokens;
  shape_.inner_tokens = activations.inner_tokens;
  if (extent == VerifyExtent::kOff) return;
  for (int layer = 0; layer < num_attentions(request); ++layer) {
    std::vector<Row> chosen = choose_rows(request, layer, extent, seed);
    const auto sequence = [&](const Row& r) {
      return std::tuple(r.batch_entry, r.head, axis_of(layer) == AttendedAxis::kInner ? r.outer : r.inner);
    };
    const auto token = [&](const Row& r) { return axis_of(layer) == AttendedAxis::kInner ? r.inner : r.outer; };
    std::ranges::sort(chosen, {}, [&](const Row& r) { return std::tuple_cat(sequence(r), std::tuple(token(r))); });
    for (std::size_t first = 0; first < chosen.size();) {
      std::size_t last = first + 1;
      while (last < chosen.size() && sequence(chosen[last]) == sequence(chosen[first])) ++last;
      compute(request, activations, std::span(chosen).subspan(first, last - first));
      first = last;
    }
  }
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  squares_.assign(rows_.size(), 0);
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    squares_[i / dim] += expected_[i] * expected_[i];
    max_abs_expected_ = std::max(max_abs_expected_, std::abs(expected_[i]));
  }
  if (rows_.empty()) return;
  mean_square_ = std::accumulate(squares_.begin(), squares_.end(), 0.0) / static_cast<double>(rows_.size());
}

std::vector<Reference::Row> Reference::choose_rows(const Request& request, int layer, VerifyExtent extent,
                                                   std::uint64_t seed) const {
  const std::int64_t all = shape_.num_rows();
  const std::int64_t keys = axis_of(layer) == AttendedAxis::kInner ? request.inner_tokens : request.outer_tokens;
  const std::int64_t wanted = std::clamp(kSampleBudget / (keys * request.head_dim), std::int64_t{request.heads},
                                         std::max<std::int64_t>(request.heads, kMaxSampleRows));
  std::vector<Row> rows;
  const auto row_at = [&](std::int64_t i, int head) {
    const auto inner = static_cast<std::int32_t>(i % shape_.inner_tokens);
    const auto outer = static_cast<std::int32_t>(i / shape_.inner_tokens % shape_.outer_tokens);
    const auto entry = static_cast<int>(i / shape_.inner_tokens / shape_.outer_tokens);
    return Row{layer, entry, head, outer, inner};
  };
  const std::int64_t per_head = all / shape_.heads;
  if (extent == VerifyExtent::kFull || wanted >= all) {
    for (int head = 0; head < shape_.heads; ++head)
      for (std::int64_t i = 0; i < per_head; ++i) rows.push_back(row_at(i, head));
    return rows;
  }
  Rng rng(seed, static_cast<std::uint64_t>(layer));
  for (std::int64_t i = 0; i < wanted; ++i)
    rows.push_back(row_at(rng.below(per_head), static_cast<int>(i % shape_.heads)));
  return rows;
}

// Rows of one head of one sequence.
void Reference::compute(const Request& request, const Activations& activations, std::span<const Row> rows) {
  const Row& first = rows.front();
  const bool inner = axis_of(first.layer) == AttendedAxis::kInner;
  const BlockMask& mask = request.executed_mask(axis_of(first.layer)).mask();
  const AttentionInput& input = activations.attentions[static_cast<std::size_t>(first.layer)];
  const int dim = request.head_dim;
  const std::int64_t stride = inner ? dim : std::int64_t{activations.inner_tokens} * dim;
  const auto starts = mask.coarse_starts();
  const auto data = [&](const std::vector<float>& array, std::int32_t token) {
    const std::int64_t row = inner ? activations.row(first.batch_entry, first.head, first.outer, token)
                                   : activations.row(first.batch_entry, first.head, token, first.inner);
    return array.data() + row * dim;
  };
  std::vector<kernels::RowBlock> q, k, v;
  std::vector<std::int32_t> row_begin = {0}, k_block;
  for (std::int32_t b = 0; b < mask.coarse_blocks(); ++b) {
    const std::int32_t begin = starts[static_cast<std::size_t>(b)],
                       size = starts[static_cast<std::size_t>(b) + 1] - begin;
    k.push_back({data(input.k, begin), size, stride});
    v.push_back({data(input.v, begin), size, stride});
  }
  for (const Row& row : rows) {
    const std::int32_t token = inner ? row.inner : row.outer;
    const auto block = static_cast<std::int32_t>(std::ranges::upper_bound(starts, token) - starts.begin()) - 1;
    q.push_back({data(input.q, token), 1, stride});
    for (std::int32_t b = 0; b < mask.coarse_blocks(); ++b)
      if (mask.active(row.head, block, b)) k_block.push_back(b);
    row_begin.push_back(static_cast<std::int32_t>(k_block.size()));
  }
  const kernels::AttentionTask task{.dtype = Dtype::kFp32,
                                    .head_dim = dim,
                                    .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim))),
                                    .q = q,
                                    .state = {},
                                    .k = k,
                                    .v = v,
                                    .row_begin = row_begin,
                                    .k_block = k_block};
  const kernels::ReferenceRows made = kernels::reference_attention(task);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  expected_.insert(expected_.end(), made.out.begin(), made.out.end());
}

double Reference::squared_error(std::size_t index, const OutputTensor& output, Verification& result) const {
  const Row& row = rows_[index];
  const auto dim = static_cast<std::size_t>(shape_.head_dim);
  const auto first = static_cast<std::size_t>(shape_.row(row.batch_entry, row.head, row.outer, row.inner)) * dim;
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    const double difference = std::abs(output.values[first + i] - expected_[index * dim + i]);
    sum += difference * difference;
    if (difference > result.max_abs_error || std::isnan(difference)) result.max_abs_error = difference;
  }
  return sum;
}

void Reference::judge_row(std::size_t index, double squared, Verification& result) const {
  const Row& row = rows_[index];
  const double scale = std::max(squares_[index], kSmallestShareOfMean * mean_square_);
  double relative = squared > 0 ? squared / scale : 0;
  if (std::isnan(squared) || (squares_[index] == 0 && squared > 0)) relative = std::numeric_limits<double>::infinity();
  if (result.num_rows++ > 0 && relative <= result.max_error) return;
  result.max_error = relative;
  result.worst_layer = row.layer;
  result.worst_head = row.head;
  result.worst_outer = row.outer;
  result.worst_inner = row.inner;
}

Verification Reference::check(std::span<const OutputTensor> outputs) const {
  Verification result;
  if (rows_.empty()) return result;
  const double tolerance = error_tolerance(dtype_);
  // An element of a replica may be off by what a whole row may.
  const double replica_limit = 2 * std::sqrt(tolerance * shape_.head_dim) * max_abs_expected_;
  double error_sum = 0, reference_sum = 0;
  bool replicas_agree = true, complete = true;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto output = std::ranges::find(outputs, rows_[i].layer, &OutputTensor::layer);
    if (output == outputs.end()) {
      complete = false;
      continue;
    }
    const double squared = squared_error(i, *output, result);
    judge_row(i, squared, result);
    error_sum += squared;
    reference_sum += squares_[i];
  }
  for (const OutputTensor& output : outputs)
    replicas_agree = replicas_agree && output.max_replica_difference <= replica_limit;
  result.nmse = reference_sum > 0 ? error_sum / reference_sum : error_sum;
  const bool passed = complete && replicas_agree && result.max_error <= tolerance;
  result.verdict = passed ? Verdict::kPassed : Verdict::kFailed;
  return result;
}

}  // namespace spscope
