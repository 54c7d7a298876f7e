#include "backend/report/document.h"

#include <algorithm>

namespace spscope {

Column text_column(std::string heading, std::string metric) {
  return {.heading = std::move(heading), .metric = std::move(metric), .left = true};
}

Column number_column(std::string heading, std::string metric, int dispensable) {
  return {.heading = std::move(heading), .metric = std::move(metric), .dispensable = dispensable};
}

Cell text_cell(std::string text) { return {Hint::kText, {}, std::move(text), {}}; }

Cell duration_cell(std::optional<std::int64_t> ns, std::optional<std::int64_t> spread_ns) {
  return {Hint::kDuration, ns, "", spread_ns};
}

Cell cell(Hint hint, std::optional<double> number, std::optional<double> spread) { return {hint, number, "", spread}; }

Cell verdict_cell(std::string verdict, std::optional<double> max_error) {
  return {Hint::kVerdict, max_error, std::move(verdict), {}};
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
