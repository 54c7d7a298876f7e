#include "backend/report/document.h"

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

Paragraph paragraph(Sentence sentence, Tone tone) {
  return {std::move(sentence.text), tone, std::move(sentence.mentions)};
}

}  // namespace spscope
