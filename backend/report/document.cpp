#include "backend/report/document.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spscope {

Column text_column(std::string heading, std::string metric) {
  return {.heading = std::move(heading), .metric = std::move(metric), .left = true};
}

Column number_column(std::string heading, std::string metric, int dispensable) {
  return {.heading = std::move(heading), .metric = std::move(metric), .dispensable = dispensable};
}

std::vector<std::size_t> columns_with_room(const Table& table,
                                           const std::function<bool(std::span<const std::size_t>)>& fits) {
  std::vector<std::size_t> kept(table.columns.size());
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  const auto dispensable = [&](std::size_t c) { return table.columns[c].dispensable; };
  while (!fits(kept)) {
    const auto worst = std::ranges::max_element(kept, {}, dispensable);
    if (worst == kept.end() || dispensable(*worst) == 0) break;
    const int number = dispensable(*worst);
    std::erase_if(kept, [&](std::size_t c) { return dispensable(c) == number; });
  }
  return kept;
}

std::string hidden_headings(const Table& table, std::span<const std::size_t> kept) {
  std::string names;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (std::ranges::find(kept, c) == kept.end()) names += (names.empty() ? "" : ", ") + table.columns[c].heading;
  return names;
}

Cell text_cell(std::string text) { return {Hint::kText, {}, std::move(text), {}}; }

Cell duration_cell(std::optional<std::int64_t> ns, std::optional<std::int64_t> spread_ns) {
  return {Hint::kDuration, ns, "", spread_ns};
}

Cell cell(Hint hint, std::optional<double> number, std::optional<double> spread) { return {hint, number, "", spread}; }

Cell verdict_cell(std::string verdict, std::optional<double> max_error) {
  return {Hint::kVerdict, max_error, std::move(verdict), {}};
}

double StackedBars::axis_ns() const {
  double longest_ns = std::max(scale_ns, mark_ns.value_or(0));
  for (const Bar& bar : bars) longest_ns = std::max(longest_ns, bar.total_ns());
  return longest_ns;
}

double Waterfall::axis_ns() const {
  double reached_ns = from.total_ns(), longest_ns = std::max({scale_ns, reached_ns, to.total_ns(), 1.0});
  for (const Step& step : steps) longest_ns = std::max(longest_ns, reached_ns += step.delta_ns);
  return longest_ns;
}

bool Waterfall::shows(const Step& step) const {
  double largest_ns = 0;
  for (const Step& other : steps) largest_ns = std::max(largest_ns, std::abs(other.delta_ns));
  return step.delta_ns != 0 && 100 * std::abs(step.delta_ns) >= largest_ns;
}

TimelineBands::Span TimelineBands::axis() const {
  Span axis{.begin_ns = 0, .end_ns = 1};
  for (const Band& band : bands) {
    axis.end_ns = std::max(axis.end_ns, band.length_ns);
    for (const Row& row : band.rows) {
      if (row.spans.empty()) continue;
      axis.begin_ns = std::min(axis.begin_ns, row.spans.front().begin_ns);
      axis.end_ns = std::max(axis.end_ns, row.spans.back().end_ns);
    }
  }
  return axis;
}

Paragraph paragraph(Sentence sentence, Tone tone) {
  return {std::move(sentence.text), tone, std::move(sentence.mentions)};
}

}  // namespace spscope
