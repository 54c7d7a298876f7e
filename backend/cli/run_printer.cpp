#include "backend/cli/run_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "backend/analysis/comparison.h"
#include "backend/base/printable.h"
#include "backend/cli/help_format.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

int exit_code_of(const Comparison& comparison) {
  const std::vector<StrategyResult>& strategies = comparison.strategies;
  if (std::ranges::any_of(strategies, &StrategyResult::failed)) return kExitFailed;
  return std::ranges::any_of(strategies, &StrategyResult::legal) ? kExitDone : kExitUsage;
}

}  // namespace

int RunPrinter::show_result(const std::string& path, const std::string& wanted) {
  const StoreReader reader(path);
  std::vector<Comparison> comparisons = compare_store(reader);
  for (Comparison& c : comparisons) c.file = wanted;
  const TerminalStyle style = terminal_style(context_.color);
  if (holds_result_) held_ = comparisons;
  if (context_.json && !holds_result_)
    context_.out << render_json(comparisons);
  else if (!context_.json)
    for (const Comparison& c : comparisons) context_.out << render_terminal(c, style);
  has_table_ = !context_.json;
  if (!json_ && !context_.json && wanted.empty())
    context_.err << fmt::format("\nnothing was kept; -o FILE.db keeps the run\n");
  if (!json_ && !wanted.empty())
    context_.err << fmt::format("kept in {}\n", wanted);  // else the path is in the last JSON line
  return exit_code_of(comparisons.front());
}

void RunPrinter::show_beside(const Comparison& then, const WhatIf& what_if) {
  if (held_.empty()) return;
  if (context_.json) {
    std::vector<Comparison> both = {held_.front(), then};
    both.back().file = "what if " + what_if.text;
    context_.out << render_json(both);
    return;
  }
  const TerminalStyle style = terminal_style(context_.color);
  const Section section = what_if_section(held_.front(), then, what_if);
  context_.out << '\n' << printable_line(section.title) << '\n' << render_terminal(section, style);
}

void RunPrinter::interrupted(const std::string& text) {
  if (json_ || !has_table_) printer_.warn(text);
}

}  // namespace spscope
