#include "backend/execute/reference/known_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <set>

namespace spscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A row fits a fault with this many times its limit: sums of a fault differ in size from those of the right row.
constexpr double kRoom = 4;
// Rows that are looked at, and multiply-adds that they may take, some seconds.
constexpr std::size_t kMostRows = 48, kFewestRows = 8;
constexpr double kWork = 3e9, kPasses = 36;

using Row = std::vector<double>;

// Keys cut into parts, one a rank: part j is [cuts[j], cuts[j + 1]).
struct Partition {
  std::vector<std::int32_t> cuts;
  std::string words;  // "4 parts of the keys"
  int parts() const { return static_cast<int>(cuts.size()) - 1; }
  int part_of(std::int32_t token) const {
    return static_cast<int>(std::ranges::upper_bound(cuts, token) - cuts.begin()) - 1;
  }
};

// As programs cut: evenly rounded down, as torch.chunk does, as torch.tensor_split does, at borders of blocks.
std::vector<Partition> partitions(const RightAttention& attention, std::span<const std::int32_t> starts) {
  const std::int32_t tokens = attention.tokens;
  std::vector<Partition> all;
  std::set<std::vector<std::int32_t>> known;
  for (const int n : attention.parts) {
    if (n < 2 || n > tokens) continue;
    const auto blocks = static_cast<std::int64_t>(starts.size()) - 1;
    for (int rule = 0; rule < 4; ++rule) {
      Partition made{{0}, fmt::format("{} parts of the keys", n)};
      constexpr const char* kHow[] = {"", " (cut as by torch.chunk)", " (cut as by torch.tensor_split)",
                                      " (cut at block borders)"};
      for (std::int64_t j = 1; j < n; ++j) {
        const std::int64_t cut[] = {tokens * j / n, std::min<std::int64_t>(tokens, j * ((tokens + n - 1) / n)),
                                    j * (tokens / n) + std::min<std::int64_t>(j, tokens % n),
                                    starts[static_cast<std::size_t>(blocks * j / n)]};
        made.cuts.push_back(static_cast<std::int32_t>(cut[rule]));
      }
      made.cuts.push_back(tokens);
      made.words += kHow[rule];
      if (known.insert(made.cuts).second) all.push_back(std::move(made));
    }
  }
  return all;
}

// Softmax over some keys: the largest score, the sum of exp(score - largest), and the values by those weights over it.
struct Folded {
  double largest = -kInfinity, sum = 0;
  Row out;
  double lse() const { return largest + std::log(sum); }
};

// Some of the stretches, each counted `times`.
Folded fold(std::span<const Folded> stretches, const std::function<double(std::size_t)>& times) {
  Folded all{.out = Row(stretches.front().out.size(), 0.0)};
  for (std::size_t s = 0; s < stretches.size(); ++s)
    if (stretches[s].sum > 0 && times(s) > 0) all.largest = std::max(all.largest, stretches[s].largest);
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    if (stretches[s].sum <= 0 || times(s) <= 0) continue;
    const double weight = times(s) * stretches[s].sum * std::exp(stretches[s].largest - all.largest);
    all.sum += weight;
    for (std::size_t i = 0; i < all.out.size(); ++i) all.out[i] += weight * stretches[s].out[i];
  }
  for (double& x : all.out) x = all.sum > 0 ? x / all.sum : 0;
  return all;
}

Row weighted(std::span<const Folded> parts, const std::function<double(const Folded&)>& weight_of, bool normalised) {
  Row out(parts.front().out.size(), 0.0);
  double sum = 0;
  for (const Folded& part : parts) {
    if (part.sum <= 0) continue;
    const double weight = weight_of(part);
    sum += weight;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += weight * part.out[i];
  }
  if (normalised && sum > 0)
    for (double& x : out) x /= sum;
  return out;
}

class FaultSearch {
 public:
  FaultSearch(const RightAttention& attention, const ComparedRows& rows) : attention_(attention), rows_(rows) {
    for (std::size_t row = 0; row < rows.errors.size(); ++row) {
      if (!rows.off(row)) continue;
      off_.push_back(row);
      largest_ = std::max(largest_, rows.errors[row]);
    }
  }

  std::vector<KnownFault> faults() {
    if (off_.empty()) return {};
    choose_rows();
    if (std::ranges::none_of(chosen_, [&](std::size_t r) { return std::isfinite(found(r)[0]); }))
      return {{"not_a_number", "its rows hold NaN or infinity", kInfinity, true}};
    if (std::ranges::all_of(off_, [&](std::size_t r) { return is_zero(right(r)); }))
      return {{"empty_rows", "rows whose mask has no key are not 0", kInfinity, true}};
    other_heads();
    other_tokens();
    std::map<std::pair<std::int32_t, int>, std::vector<std::size_t>> groups;
    for (const std::size_t row : chosen_) groups[{place(row).sequence, head(row)}].push_back(row);
    for (const auto& [where, of_group] : groups) {
      parts_of_keys(where.first, where.second, of_group);
      whole_rows(where.first, where.second, of_group);
    }
    padding();
    return best();
  }

 private:
  const RowPlace& place(std::size_t row) const {
    return rows_.places[row / static_cast<std::size_t>(attention_.heads)];
  }
  int head(std::size_t row) const { return static_cast<int>(row % static_cast<std::size_t>(attention_.heads)); }
  std::span<const double> of(const std::vector<double>& all, std::size_t row) const {
    const auto dim = static_cast<std::size_t>(attention_.head_dim);
    return std::span(all).subspan(row * dim, dim);
  }
  std::span<const double> found(std::size_t row) const { return of(rows_.found, row); }
  std::span<const double> right(std::size_t row) const { return of(rows_.right, row); }
  static bool is_zero(std::span<const double> row) {
    return std::ranges::all_of(row, [](double x) { return x == 0; });
  }
  bool fits(std::size_t row, std::span<const double> expected) const {
    return row_error(found(row), expected, rows_.least_square) <= kRoom * rows_.limits[row];
  }

  // Spread over all that are off, place by place.
  void choose_rows() {
    const double of_row = kPasses * attention_.tokens * attention_.head_dim;
    const std::size_t most =
        std::min(off_.size(), std::clamp(static_cast<std::size_t>(kWork / of_row), kFewestRows, kMostRows));
    for (std::size_t i = 0; i < most; ++i) chosen_.push_back(off_[i * off_.size() / most]);
  }

  // A row of a fault. `id` and `text` are those of a fault that all chosen rows are held against.
  void judge(const std::string& id, const std::string& text, std::size_t row, std::span<const double> expected) {
    KnownFault& fault = faults_.try_emplace(id + text, KnownFault{id, text, 0, true}).first->second;
    const double error = row_error(found(row), expected, rows_.least_square);
    fault.left = std::max(fault.left, error);
    fault.fits = fault.fits && error <= kRoom * rows_.limits[row];
  }

  // Every head that is off holds what another one should.
  void other_heads() {
    std::map<int, std::vector<std::size_t>> of_head;
    for (const std::size_t row : off_) of_head[head(row)].push_back(row);
    std::map<int, int> holds;
    double left = 0;
    for (const auto& [off_head, of] : of_head) {
      const int h = off_head;  // clang 14 captures no binding
      for (int other = 0; other < attention_.heads && !holds.contains(h); ++other) {
        const auto row_of = [&](std::size_t row) {
          return row - static_cast<std::size_t>(h) + static_cast<std::size_t>(other);
        };
        if (other != h && std::ranges::all_of(of, [&](std::size_t row) { return fits(row, right(row_of(row))); })) {
          holds[h] = other;
          for (const std::size_t row : of)
            left = std::max(left, row_error(found(row), right(row_of(row)), rows_.least_square));
        }
      }
      if (!holds.contains(h)) return;
    }
    constexpr std::size_t kMostNamed = 4;
    std::string text = "heads are in another order: ";
    std::size_t named = 0;
    for (const auto& [h, other] : holds)
      if (named++ < kMostNamed) text += fmt::format("{}head {} holds head {}", named > 1 ? ", " : "", h, other);
    if (holds.size() > kMostNamed) text += ", ...";
    if (holds.size() == 2 && holds.begin()->second == holds.rbegin()->first &&
        holds.rbegin()->second == holds.begin()->first)
      text = fmt::format("heads {} and {} are swapped", holds.begin()->first, holds.rbegin()->first);
    faults_["other_heads"] = {"other_heads", text, left, true};
  }

  // Every chosen row is the right one of another place.
  void other_tokens() {
    double left = 0;
    std::string example;
    for (const std::size_t row : chosen_) {
      std::optional<std::size_t> at;
      for (std::size_t p = 0; p < rows_.places.size() && !at; ++p) {
        const std::size_t other = p * static_cast<std::size_t>(attention_.heads) + static_cast<std::size_t>(head(row));
        if (other != row && !is_zero(right(other)) && fits(row, right(other))) at = other;
      }
      if (!at) return;
      left = std::max(left, row_error(found(row), right(*at), rows_.least_square));
      if (example.empty()) example = fmt::format("token {} holds token {}", place(row).token, place(*at).token);
    }
    faults_["other_tokens"] = {"other_tokens", fmt::format("tokens are in another order: {}", example), left, true};
  }

  void parts_of_keys(std::int32_t sequence, int of_head, std::span<const std::size_t> group) {
    const HeadRows input = attention_.head_rows(sequence, of_head);
    const std::vector<Partition> ways = partitions(attention_, input.mask->coarse_starts());
    std::set<std::int32_t> edges = {0, attention_.tokens, attention_.text.begin, attention_.text.end};
    edges.insert({other_end().begin, other_end().end});
    for (const Partition& way : ways) edges.insert(way.cuts.begin(), way.cuts.end());
    const std::vector<std::int32_t> cuts(edges.begin(), edges.end());
    std::vector<std::vector<Folded>> stretches(group.size());
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      const kernels::ReferenceRows made =
          attention_rows(input, tokens_of(group), {.begin = cuts[s], .end = cuts[s + 1]});
      for (std::size_t r = 0; r < group.size(); ++r) {
        const auto out = of(made.out, r);
        stretches[r].push_back({made.row_max[r], made.row_sum[r], Row(out.begin(), out.end())});
      }
    }
    for (std::size_t r = 0; r < group.size(); ++r) {
      const std::size_t row = group[r];
      lse_[row] = fold(stretches[r], [](std::size_t) { return 1.0; }).lse();
      text_keys(row, stretches[r], cuts);
      for (const Partition& way : ways) parts(row, stretches[r], cuts, way);
    }
  }

  // Text at its own end of the sequence, and as many tokens at the other, for who mistook one end for the other.
  void text_keys(std::size_t row, std::span<const Folded> stretches, std::span<const std::int32_t> cuts) {
    const Span text = attention_.text, other = other_end();
    if (text.begin >= text.end) return;
    std::set<int> times(attention_.parts.begin(), attention_.parts.end());
    times.insert({0, 2});
    for (const Span& span : {text, other}) {
      const std::string keys = span.begin == text.begin
                                   ? "the keys of the text are "
                                   : fmt::format("the {} {} keys, as many as the text has, are ",
                                                 span.begin == 0 ? "first" : "last", text.end - text.begin);
      for (const int n : times)
        judge(n == 0 ? "text_left_out" : "text_counted_again",
              keys + (n == 0   ? "left out"
                      : n == 2 ? "counted twice"
                               : fmt::format("counted {} times", n)),
              row, fold(stretches, [&](std::size_t s) {
                     return span.begin <= cuts[s] && cuts[s] < span.end ? static_cast<double>(n) : 1.0;
                   }).out);
    }
  }
  Span other_end() const {
    const Span text = attention_.text;
    return {attention_.tokens - text.end, attention_.tokens - text.begin};
  }

  void parts(std::size_t row, std::span<const Folded> stretches, std::span<const std::int32_t> cuts,
             const Partition& way) {
    const int n = way.parts(), own = way.part_of(place(row).token);
    std::vector<Folded> of_part;
    for (int j = 0; j < n; ++j)
      of_part.push_back(fold(stretches, [&](std::size_t s) { return way.part_of(cuts[s]) == j ? 1.0 : 0.0; }));
    judge("local_keys", fmt::format("each rank attends to its own of {} only", way.words), row,
          of_part[static_cast<std::size_t>(own)].out);
    const std::string merged = fmt::format("partial results of {} are ", way.words);
    judge("averaged", merged + "averaged, not weighted by their log-sum-exp", row,
          weighted(
              of_part, [&](const Folded&) { return 1.0 / n; }, false));
    judge("added", merged + "added, not weighted by their log-sum-exp", row,
          weighted(
              of_part, [](const Folded&) { return 1.0; }, false));
    judge("not_rescaled", merged + "merged without bringing them to one maximum", row,
          weighted(
              of_part, [](const Folded& p) { return p.sum; }, true));
    for (const double factor : {std::numbers::ln2, 1 / std::numbers::ln2}) {
      double top = -kInfinity;
      for (const Folded& p : of_part)
        if (p.sum > 0) top = std::max(top, factor * p.lse());
      judge("base_of_lse",
            merged + (factor < 1 ? "merged with a natural log-sum-exp that is read as one of base 2"
                                 : "merged with a log-sum-exp of base 2 that is read as a natural one"),
            row,
            weighted(
                of_part, [&](const Folded& p) { return std::exp(factor * p.lse() - top); }, true));
    }
    for (int d = 1; d < n && n > 2; ++d)
      judge("missing_step",
            fmt::format("a ring step is missing: of {}, the rows of part r never attend to part r + {}", way.words, d),
            row, fold(stretches, [&](std::size_t s) { return way.part_of(cuts[s]) == (own + d) % n ? 0.0 : 1.0; }).out);
  }

  // What takes the keys as a whole.
  void whole_rows(std::int32_t sequence, int of_head, std::span<const std::size_t> group) {
    const HeadRows input = attention_.head_rows(sequence, of_head);
    const double dim = attention_.head_dim, usual = 1 / std::sqrt(dim);
    const auto hold = [&](const std::string& id, const std::string& text, const KeyChoice& keys, bool divided = true) {
      kernels::ReferenceRows made = attention_rows(input, tokens_of(group), keys);
      for (std::size_t r = 0; r < group.size(); ++r) {
        const auto out = of(made.out, r);
        Row expected(out.begin(), out.end());
        if (!divided)
          for (double& x : expected) x *= made.row_sum[r];
        judge(id, text, group[r], expected);
      }
    };
    const auto scale = [&](double value, const std::string& words) {
      hold("scale", fmt::format("scores are scaled by {} instead of 1 / sqrt({:g})", words, dim), {.scale = value});
    };
    scale(1, "1");
    scale(1 / dim, fmt::format("1 / {:g}", dim));
    scale(usual * std::numbers::log2e, fmt::format("log2(e) / sqrt({:g})", dim));
    scale(usual * std::numbers::ln2, fmt::format("ln(2) / sqrt({:g})", dim));
    scale(usual / std::sqrt(attention_.heads), fmt::format("1 / sqrt({:g})", dim * attention_.heads));
    hold("causal", "keys after a row's own token are left out, as in causal attention", {.causal = true});
    hold("mask_ignored", "the mask is ignored, and every key is attended to", {.mask = KeyChoice::Mask::kAll});
    hold("mask_transposed", "the mask is taken with queries and keys exchanged",
         {.mask = KeyChoice::Mask::kTransposed});
    hold("not_divided", "rows are not divided by the sum of their weights", {}, false);
  }

  // Keys and values of zeros score 0 and shrink a row. How many there are is read off the row that shrinks most.
  void padding() {
    double most = 0, count = 0;
    const auto shrunk = [&](std::size_t row) {
      const auto f = found(row), r = right(row);
      return std::inner_product(r.begin(), r.end(), r.begin(), 0.0) /
                 std::inner_product(f.begin(), f.end(), r.begin(), 0.0) -
             1;
    };
    for (const std::size_t row : chosen_)
      if (const double by = shrunk(row); std::isfinite(by) && by > most) {
        most = by;
        count = std::round(std::exp(lse_[row]) * by);
      }
    if (count < 1 || count > 1e6) return;
    const std::string text = count == 1 ? std::string("a row of zeros is attended to, as padding")
                                        : fmt::format("{:.0f} rows of zeros are attended to, as padding", count);
    for (const std::size_t row : chosen_) {
      Row expected(right(row).begin(), right(row).end());
      for (double& x : expected) x /= 1 + count * std::exp(-lse_[row]);
      judge("padding", text, row, expected);
    }
  }

  std::vector<std::int32_t> tokens_of(std::span<const std::size_t> group) const {
    std::vector<std::int32_t> tokens;
    for (const std::size_t row : group) tokens.push_back(place(row).token);
    return tokens;
  }

  std::vector<KnownFault> best() const {
    std::vector<KnownFault> all;
    for (const auto& [key, fault] : faults_) all.push_back(fault);
    std::ranges::stable_sort(all, {}, [](const KnownFault& f) { return std::pair(!f.fits, f.left); });
    const auto fitting = std::ranges::count_if(all, &KnownFault::fits);
    if (fitting > 0) {
      all.resize(static_cast<std::size_t>(fitting));
    } else {
      all.resize(all.empty() || all.front().left >= largest_ / 10 ? 0 : 1);
    }
    return all;
  }

  const RightAttention& attention_;
  const ComparedRows& rows_;
  std::vector<std::size_t> off_, chosen_;
  double largest_ = 0;
  std::map<std::size_t, double> lse_;
  std::map<std::string, KnownFault> faults_;
};

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

std::vector<KnownFault> known_faults(const RightAttention& attention, const ComparedRows& rows) {
  return FaultSearch(attention, rows).faults();
}

}  // namespace spscope
