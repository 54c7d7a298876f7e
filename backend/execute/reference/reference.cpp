#include "backend/execute/reference/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "backend/base/error.h"
#include "backend/base/rng.h"
#include "backend/execute/reference/attention_rows.h"
#include "backend/execute/reference/layer_reference.h"

namespace spscope {
namespace {

constexpr double kToleranceFp32 = 1e-10, kToleranceBf16 = 5e-5;
constexpr double kLayerToleranceFp32 = 1e-10, kLayerToleranceBf16 = 5e-4;
// Multiply-adds that a sample may take, about a second in double precision.
constexpr std::int64_t kSampleBudget = 1'000'000'000;
constexpr std::int64_t kMaxSampleRows = 4096;
// Multiply-adds that a sample of a whole layer may take, about half a minute, and its tokens: some of text, where there
// are any, and some of video; fewer than all only where all would take more than kSampleBudget.
constexpr double kLayerSampleBudget = 1e11;
constexpr std::int64_t kSampleTokens = 64, kSampleTextTokens = 16;

// Inner indices of a sample; with each of them all its tokens along the outer axis.
std::int64_t num_sample_places(const Request& request) {
  return std::min<std::int64_t>(request.inner_tokens, std::max<std::int64_t>(1, kSampleTokens / request.outer_tokens));
}

bool all_are_cheap(const Request& request) {
  const std::int64_t all = std::int64_t{request.outer_tokens} * request.inner_tokens;
  return layer_reference_work(request, all) * request.batch <= static_cast<double>(kSampleBudget);
}

std::int64_t num_sample_tokens(const Request& request) {
  const std::int64_t places = all_are_cheap(request) ? request.inner_tokens : num_sample_places(request);
  return places * request.outer_tokens;
}

std::vector<GridToken> choose_tokens(const Request& request, VerifyExtent extent, std::uint64_t seed) {
  std::vector<bool> chosen(static_cast<std::size_t>(request.inner_tokens), false);
  if (extent == VerifyExtent::kFull || all_are_cheap(request)) {
    chosen.assign(chosen.size(), true);
  } else {
    Rng rng(seed);
    const std::int64_t places = num_sample_places(request),
                       text_begin = request.text_first ? 0 : request.inner_tokens - request.text_tokens;
    const std::int64_t of_text = request.text_tokens > 0 ? std::min(kSampleTextTokens, places / 2) : 0;
    for (std::int64_t i = 0; i < places; ++i)
      chosen[static_cast<std::size_t>(i < of_text ? text_begin + rng.below(request.text_tokens)
                                                  : rng.below(request.inner_tokens))] = true;
  }
  std::vector<GridToken> tokens;
  for (std::int32_t outer = 0; outer < request.outer_tokens; ++outer)
    for (std::int32_t inner = 0; inner < request.inner_tokens; ++inner)
      if (chosen[static_cast<std::size_t>(inner)]) tokens.push_back({outer, inner});
  return tokens;
}

// Rows of a sequence that are computed between two looks at the interrupt: a second at 10^5 keys.
constexpr std::size_t kRowsTogether = 64;

AttendedAxis axis_of(int layer) { return layer == 1 ? AttendedAxis::kOuter : AttendedAxis::kInner; }

}  // namespace

std::optional<double> attention_tolerance(Dtype dtype, int head_dim, std::int64_t keys, double largest_products,
                                          double cancellation) {
  constexpr double kUnitRoundoff = 0x1p-24, kMostMoved = 2e-5;
  const double moved = kUnitRoundoff * std::sqrt(static_cast<double>(head_dim)) * largest_products;
  if (!(moved * moved <= kMostMoved)) return std::nullopt;
  constexpr double kTail = 16;
  if (dtype == Dtype::kFp32) {
    constexpr double kExponential = 2.5e-7;
    const double of_sums = static_cast<double>(keys) * kUnitRoundoff * kUnitRoundoff / 6;
    return kToleranceFp32 + moved * moved + kTail * (kExponential * kExponential / 3 + of_sums) * cancellation;
  }
  constexpr double kRoundedWeight = 0x1p-18 / 3;  // the mean square of a weight's relative error
  return kToleranceBf16 + kTail * kRoundedWeight * cancellation;
}

double layer_tolerance(Dtype dtype, std::int64_t num_rows, std::int64_t channels) {
  const double wide = dtype == Dtype::kFp32 ? kLayerToleranceFp32 : kLayerToleranceBf16;
  const double narrow = std::pow(static_cast<double>(num_rows), 4.0 / static_cast<double>(channels));
  return wide * std::min(narrow, 1 / kSmallestShareOfMean);
}

std::vector<Problem> cannot_verify(const Request& request, VerifyExtent extent) {
  if (request.block == LayerBlock::kAttention || extent != VerifyExtent::kSample) return {};
  const double work = layer_reference_work(request, num_sample_tokens(request)) * request.batch;
  if (work <= kLayerSampleBudget) return {};
  return {{ErrorCode::kCannotExecute, "run.verify",
           fmt::format("the reference of a whole layer of this size takes {:.0f} x 10^9 multiply-adds in double "
                       "precision, a sample may take {:.0f}",
                       work * 1e-9, kLayerSampleBudget * 1e-9),
           "set run.verify = \"off\", use a smaller model.grid, or wait for run.verify = \"full\""}};
}

Reference::Reference(const Request& request, const Activations& activations, VerifyExtent extent, std::uint64_t seed,
                     const std::atomic<bool>* interrupt)
    : whole_layer_(request.block != LayerBlock::kAttention), dtype_(request.dtype), interrupt_(interrupt) {
  shape_.batch = activations.batch;
  shape_.heads = activations.heads;
  shape_.head_dim = activations.head_dim;
  shape_.outer_tokens = activations.outer_tokens;
  shape_.inner_tokens = activations.inner_tokens;
  shape_.hidden = activations.hidden;
  if (extent == VerifyExtent::kOff) return;
  if (std::vector<Problem> problems = cannot_verify(request, extent); !problems.empty())
    throw Error(std::move(problems));
  if (whole_layer_)
    add_layer(request, activations, extent, seed);
  else
    add_attentions(request, activations, extent, seed);
  const auto width = static_cast<std::size_t>(row_width());
  squares_.assign(rows_.size(), 0);
  for (std::size_t i = 0; i < expected_.size(); ++i) squares_[i / width] += expected_[i] * expected_[i];
  if (rows_.empty()) return;
  mean_square_ = std::accumulate(squares_.begin(), squares_.end(), 0.0) / static_cast<double>(rows_.size());
}

void Reference::add_attentions(const Request& request, const Activations& activations, VerifyExtent extent,
                               std::uint64_t seed) {
  for (int layer = 0; layer < num_attentions(request); ++layer) {
    std::vector<Row> chosen = choose_rows(request, layer, extent, seed);
    const auto sequence = [&](const Row& r) {
      return std::tuple(r.batch_entry, r.head, axis_of(layer) == AttendedAxis::kInner ? r.outer : r.inner);
    };
    const auto token = [&](const Row& r) { return axis_of(layer) == AttendedAxis::kInner ? r.inner : r.outer; };
    std::ranges::sort(chosen, {}, [&](const Row& r) { return std::tuple_cat(sequence(r), std::tuple(token(r))); });
    for (std::size_t first = 0; first < chosen.size() && !interrupted();) {
      std::size_t last = first + 1;
      while (last < chosen.size() && last - first < kRowsTogether && sequence(chosen[last]) == sequence(chosen[first]))
        ++last;
      compute(request, activations, std::span(chosen).subspan(first, last - first));
      first = last;
    }
  }
}

void Reference::add_layer(const Request& request, const Activations& activations, VerifyExtent extent,
                          std::uint64_t seed) {
  const std::vector<GridToken> tokens = choose_tokens(request, extent, seed);
  const std::int64_t all = std::int64_t{request.batch} * request.outer_tokens * request.inner_tokens;
  const double tolerance = layer_tolerance(dtype_, all, request.hidden);
  for (int entry = 0; entry < request.batch && !interrupted(); ++entry) {
    const DenseRows made = layer_reference(request, activations, entry, tokens);
    for (const GridToken& token : tokens) rows_.push_back({0, entry, 0, token.outer, token.inner});
    limits_.resize(rows_.size(), tolerance);
    expected_.insert(expected_.end(), made.data.begin(), made.data.end());
  }
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
  const AttentionInput& input = activations.attentions[static_cast<std::size_t>(first.layer)];
  const int dim = request.head_dim;
  const std::int64_t stride = inner ? dim : std::int64_t{activations.inner_tokens} * dim;
  const std::int64_t begin =
      dim * activations.row(first.batch_entry, first.head, inner ? first.outer : 0, inner ? 0 : first.inner);
  const HeadRows of = {.q = input.q.data() + begin,
                       .k = input.k.data() + begin,
                       .v = input.v.data() + begin,
                       .q_stride = stride,
                       .k_stride = stride,
                       .v_stride = stride,
                       .head_dim = dim,
                       .head = first.head,
                       .mask = &request.executed_mask(axis_of(first.layer)).mask()};
  std::vector<std::int32_t> tokens;
  for (const Row& row : rows) tokens.push_back(inner ? row.inner : row.outer);
  const kernels::ReferenceRows made = attention_rows(of, tokens);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  expected_.insert(expected_.end(), made.out.begin(), made.out.end());
  for (std::size_t row = 0; row < rows.size(); ++row)
    limits_.push_back(attention_tolerance(dtype_, dim, inner ? request.inner_tokens : request.outer_tokens,
                                          made.largest_products[row], made.cancellation[row]));
}

double Reference::squared_error(std::size_t index, const OutputTensor& output, Verification& result) const {
  const Row& row = rows_[index];
  const auto width = static_cast<std::size_t>(row_width());
  // x has all tokens of a channel next to each other, o all channels of a head.
  const std::int64_t grid = std::int64_t{shape_.outer_tokens} * shape_.inner_tokens;
  const std::int64_t in_layer =
      std::int64_t{row.batch_entry} * shape_.hidden * grid + std::int64_t{row.outer} * shape_.inner_tokens + row.inner;
  const std::int64_t in_head = shape_.row(row.batch_entry, row.head, row.outer, row.inner) * shape_.head_dim;
  const auto first = static_cast<std::size_t>(whole_layer_ ? in_layer : in_head);
  const std::size_t step = whole_layer_ ? static_cast<std::size_t>(grid) : 1;
  double sum = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double difference = std::abs(output.values[first + i * step] - expected_[index * width + i]);
    sum += difference * difference;
    if (difference > result.max_abs_error || std::isnan(difference)) result.max_abs_error = difference;
  }
  return sum;
}

bool Reference::judge_row(std::size_t index, double squared, double& worst_share, Verification& result) const {
  const Row& row = rows_[index];
  const double scale = std::max(squares_[index], kSmallestShareOfMean * mean_square_);
  double relative = squared > 0 ? squared / scale : 0;
  if (std::isnan(squared) || (squares_[index] == 0 && squared > 0)) relative = std::numeric_limits<double>::infinity();
  ++result.num_rows;
  if (!limits_[index]) {
    ++result.num_unjudged;
    return std::isfinite(relative);
  }
  const double share = relative / *limits_[index];
  result.max_error = std::max(result.max_error, relative);
  if (share <= worst_share) return share <= 1;
  worst_share = share;
  result.worst_layer = row.layer;
  result.worst_head = row.head;
  result.worst_outer = row.outer;
  result.worst_inner = row.inner;
  return share <= 1;
}

Verification Reference::check(std::span<const OutputTensor> outputs) const {
  Verification result;
  if (rows_.empty()) return result;
  double error_sum = 0, reference_sum = 0, worst_share = -1;
  bool passed = true;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto output = std::ranges::find(outputs, rows_[i].layer, &OutputTensor::layer);
    if (output == outputs.end()) {
      passed = false;
      continue;
    }
    const double squared = squared_error(i, *output, result);
    passed = judge_row(i, squared, worst_share, result) && passed;
    error_sum += squared;
    reference_sum += squares_[i];
  }
  const double largest_limit = std::ranges::max_element(limits_)->value_or(kToleranceBf16);  // nullopt is the least
  for (const OutputTensor& output : outputs) {
    const double apart = output.max_replica_error;
    // Which row it is of is not known: it may be one that is not judged, if there is one.
    const bool unjudged = result.num_unjudged > 0 && std::isfinite(apart);
    passed = passed && (apart <= largest_limit || unjudged);
    result.max_error = std::max(result.max_error, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  result.nmse = reference_sum > 0 ? error_sum / reference_sum : error_sum;
  result.verdict = !passed ? Verdict::kFailed : result.num_unjudged > 0 ? Verdict::kSkipped : Verdict::kPassed;
  return result;
}

}  // namespace spscope
