// A row is computed once for each stretch of keys between two cuts of any partition, and each fault folds those
// stretches in its own way.
#include "backend/execute/reference/faults_of_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <set>

namespace spscope {
namespace {

Span other_end(const RightAttention& attention) {
  return {attention.tokens - attention.text.end, attention.tokens - attention.text.begin};
}

// Text at its own end of the sequence, and as many tokens at the other, for who mistook one end for the other.
void text_keys(FaultRows& rows, std::size_t row, std::span<const Folded> stretches,
               std::span<const std::int32_t> cuts) {
  const Span text = rows.attention().text, other = other_end(rows.attention());
  if (text.begin >= text.end) return;
  std::set<int> times(rows.attention().parts.begin(), rows.attention().parts.end());
  times.insert({0, 2});
  for (const Span& span : {text, other}) {
    const std::string keys = span.begin == text.begin
                                 ? "the keys of the text are "
                                 : fmt::format("the {} {} keys, as many as the text has, are ",
                                               span.begin == 0 ? "first" : "last", text.end - text.begin);
    for (const int n : times)
      rows.judge(n == 0 ? "text_left_out" : "text_counted_again",
                 keys + (n == 0   ? "left out"
                         : n == 2 ? "counted twice"
                                  : fmt::format("counted {} times", n)),
                 row, fold(stretches, [&](std::size_t s) {
                        return span.begin <= cuts[s] && cuts[s] < span.end ? static_cast<double>(n) : 1.0;
                      }).out);
  }
}

void merged_parts(FaultRows& rows, std::size_t row, std::span<const Folded> stretches,
                  std::span<const std::int32_t> cuts, const Partition& way) {
  const int n = way.parts(), own = way.part_of(rows.place(row).token);
  std::vector<Folded> of_part;
  for (int j = 0; j < n; ++j)
    of_part.push_back(fold(stretches, [&](std::size_t s) { return way.part_of(cuts[s]) == j ? 1.0 : 0.0; }));
  rows.judge("local_keys", fmt::format("each rank attends to its own of {} only", way.words), row,
             of_part[static_cast<std::size_t>(own)].out);
  const std::string merged = fmt::format("partial results of {} are ", way.words);
  rows.judge("averaged", merged + "averaged, not weighted by their log-sum-exp", row,
             weighted(
                 of_part, [&](const Folded&) { return 1.0 / n; }, false));
  rows.judge("added", merged + "added, not weighted by their log-sum-exp", row,
             weighted(
                 of_part, [](const Folded&) { return 1.0; }, false));
  rows.judge("not_rescaled", merged + "merged without bringing them to one maximum", row,
             weighted(
                 of_part, [](const Folded& p) { return p.sum; }, true));
  for (const double factor : {std::numbers::ln2, 1 / std::numbers::ln2}) {
    double top = -std::numeric_limits<double>::infinity();
    for (const Folded& p : of_part)
      if (p.sum > 0) top = std::max(top, factor * p.lse());
    rows.judge("base_of_lse",
               merged + (factor < 1 ? "merged with a natural log-sum-exp that is read as one of base 2"
                                    : "merged with a log-sum-exp of base 2 that is read as a natural one"),
               row,
               weighted(
                   of_part, [&](const Folded& p) { return std::exp(factor * p.lse() - top); }, true));
  }
  for (int d = 1; d < n && n > 2; ++d)
    rows.judge(
        "missing_step",
        fmt::format("a ring step is missing: of {}, the rows of part r never attend to part r + {}", way.words, d), row,
        fold(stretches, [&](std::size_t s) { return way.part_of(cuts[s]) == (own + d) % n ? 0.0 : 1.0; }).out);
}

}  // namespace

void judge_parts_of_keys(FaultRows& rows, std::span<const std::size_t> group, std::map<std::size_t, double>& lse) {
  const HeadRows input = rows.attention().head_rows(rows.place(group.front()).sequence, rows.head(group.front()));
  const std::vector<Partition> ways =
      partitions(rows.attention().tokens, rows.attention().parts, input.mask->coarse_starts());
  std::set<std::int32_t> edges = {0, rows.attention().tokens, rows.attention().text.begin, rows.attention().text.end};
  edges.insert({other_end(rows.attention()).begin, other_end(rows.attention()).end});
  for (const Partition& way : ways) edges.insert(way.cuts.begin(), way.cuts.end());
  const std::vector<std::int32_t> cuts(edges.begin(), edges.end());
  std::vector<std::vector<Folded>> stretches(group.size());
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    const kernels::ReferenceRows made =
        attention_rows(input, rows.tokens_of(group), {.begin = cuts[s], .end = cuts[s + 1]});
    for (std::size_t r = 0; r < group.size(); ++r) {
      const auto out = rows.row_of(made.out, r);
      stretches[r].push_back({made.row_max[r], made.row_sum[r], std::vector<double>(out.begin(), out.end())});
    }
  }
  for (std::size_t r = 0; r < group.size(); ++r) {
    const std::size_t row = group[r];
    lse[row] = fold(stretches[r], [](std::size_t) { return 1.0; }).lse();
    text_keys(rows, row, stretches[r], cuts);
    for (const Partition& way : ways) merged_parts(rows, row, stretches[r], cuts, way);
  }
}

}  // namespace spscope
