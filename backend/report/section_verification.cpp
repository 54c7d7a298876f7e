// Verification: whether outputs equal the reference, and why strategies cannot run.
#include <fmt/format.h>

#include "backend/report/section.h"

namespace spscope {
namespace {

std::string hint_of(const Problem& problem) { return problem.hint.empty() ? "" : "; " + problem.hint; }

}  // namespace

void fill_verification(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  Table checks, refused;
  bool any_checked = false;
  checks.columns = {text_column("strategy"),
                    text_column("mode", "provenance"),
                    text_column("outputs", "verification"),
                    text_column("measure", "verification"),
                    {"layers and steps checked", "verification"}};
  refused.caption = "Refused";
  refused.columns = {text_column("strategy"), text_column("error"), text_column("reason")};
  for (const StrategyResult& s : comparison.strategies) {
    for (const Problem& p : s.problems)
      refused.rows.push_back({{text_cell(s.label), text_cell(error_id(p.code)), text_cell(p.message + hint_of(p))}});
    if (!s.legal() || s.by_layer.empty()) continue;
    any_checked = any_checked || s.verify != "skipped";
    int checked = 0;
    for (const LayerResult& layer : s.by_layer) checked += layer.verify != "skipped";
    checks.rows.push_back(
        {{text_cell(s.label), text_cell(std::string(mode_word(s.mode))), verdict_cell(s.verify, s.max_error),
          text_cell(s.error_metric.empty() ? "–" : s.error_metric),
          text_cell(fmt::format("{} of {}", checked, s.by_layer.size()))}});
  }
  if (!checks.rows.empty() && any_checked) section.blocks.push_back(std::move(checks));
  if (!checks.rows.empty() && !any_checked)
    section.blocks.push_back(
        Paragraph{"No outputs were checked: run.mode = \"execute\" computes them and compares them with a reference.",
                  Tone::kNote});
  if (!refused.rows.empty()) section.blocks.push_back(std::move(refused));
}

}  // namespace spscope
