#include "backend/execute/reference/known_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "backend/execute/reference/faults_of_parts.h"
#include "backend/execute/reference/faults_of_places.h"

namespace spscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What takes the keys as a whole.
void judge_whole_rows(FaultRows& rows, std::span<const std::size_t> group) {
  const HeadRows input = rows.attention().head_rows(rows.place(group.front()).sequence, rows.head(group.front()));
  const double dim = rows.attention().head_dim, usual = 1 / std::sqrt(dim);
  const auto hold = [&](const std::string& id, const std::string& text, const KeyChoice& keys, bool divided = true) {
    kernels::ReferenceRows made = attention_rows(input, rows.tokens_of(group), keys);
    for (std::size_t r = 0; r < group.size(); ++r) {
      const auto out = rows.row_of(made.out, r);
      std::vector<double> expected(out.begin(), out.end());
      if (!divided)
        for (double& x : expected) x *= made.row_sum[r];
      rows.judge(id, text, group[r], expected);
    }
  };
  const auto scale = [&](double value, const std::string& words) {
    hold("scale", fmt::format("scores are scaled by {} instead of 1 / sqrt({:g})", words, dim), {.scale = value});
  };
  scale(1, "1");
  scale(1 / dim, fmt::format("1 / {:g}", dim));
  scale(usual * std::numbers::log2e, fmt::format("log2(e) / sqrt({:g})", dim));
  scale(usual * std::numbers::ln2, fmt::format("ln(2) / sqrt({:g})", dim));
  scale(usual / std::sqrt(rows.attention().heads), fmt::format("1 / sqrt({:g})", dim * rows.attention().heads));
  hold("causal", "keys after a row's own token are left out, as in causal attention", {.causal = true});
  hold("mask_ignored", "the mask is ignored, and every key is attended to", {.mask = KeyChoice::Mask::kAll});
  hold("mask_transposed", "the mask is taken with queries and keys exchanged", {.mask = KeyChoice::Mask::kTransposed});
  hold("not_divided", "rows are not divided by the sum of their weights", {}, false);
}

// Keys and values of zeros score 0 and shrink a row. How many there are is read off the row that shrinks most.
void judge_padding(FaultRows& rows, const std::map<std::size_t, double>& lse) {
  double most = 0, count = 0;
  const auto shrunk = [&](std::size_t row) {
    const auto f = rows.found(row), r = rows.right(row);
    return std::inner_product(r.begin(), r.end(), r.begin(), 0.0) /
               std::inner_product(f.begin(), f.end(), r.begin(), 0.0) -
           1;
  };
  for (const std::size_t row : rows.chosen())
    if (const double by = shrunk(row); std::isfinite(by) && by > most) {
      most = by;
      count = std::round(std::exp(lse.at(row)) * by);
    }
  if (count < 1 || count > 1e6) return;
  const std::string text = count == 1 ? std::string("a row of zeros is attended to, as padding")
                                      : fmt::format("{:.0f} rows of zeros are attended to, as padding", count);
  for (const std::size_t row : rows.chosen()) {
    std::vector<double> expected(rows.right(row).begin(), rows.right(row).end());
    for (double& x : expected) x /= 1 + count * std::exp(-lse.at(row));
    rows.judge("padding", text, row, expected);
  }
}

}  // namespace

double row_error(std::span<const double> found, std::span<const double> right, double least_square) {
  double error = 0, square = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    error += (found[i] - right[i]) * (found[i] - right[i]);
    square += right[i] * right[i];
  }
  if (error == 0) return 0;
  if (!std::isfinite(error) || square == 0) return kInfinity;
  return error / std::max(square, least_square);
}

std::vector<KnownFault> known_faults(const RightAttention& attention, const ComparedRows& compared,
                                     const LeftZero& left_zero) {
  FaultRows rows(attention, compared);
  if (rows.off().empty()) return {};
  if (std::ranges::none_of(rows.chosen(), [&](std::size_t r) { return std::isfinite(rows.found(r)[0]); }))
    return {{"not_a_number", "its rows hold NaN or infinity", kInfinity, true}};
  if (std::ranges::all_of(rows.off(), [&](std::size_t r) { return FaultRows::is_zero(rows.right(r)); }))
    return {{"empty_rows", "rows whose mask has no key are not 0", kInfinity, true}};
  if (const std::string text = zero_rows_text(rows, left_zero); !text.empty())
    return {{"zero_rows", text, kInfinity, true}};
  judge_order(rows);
  std::map<std::pair<std::int32_t, int>, std::vector<std::size_t>> groups;  // by sequence and head
  for (const std::size_t row : rows.chosen()) groups[{rows.place(row).sequence, rows.head(row)}].push_back(row);
  std::map<std::size_t, double> lse;  // by row
  for (const auto& [where, group] : groups) {
    judge_parts_of_keys(rows, group, lse);
    judge_whole_rows(rows, group);
  }
  judge_padding(rows, lse);
  return rows.best();
}

}  // namespace spscope
