#include "bench/gpu/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string_view>
#include <vector>

#include "bench/gpu/results.h"

namespace spscope::gpu_check {
namespace {

std::string whose(const Json& results) {
  const Json& machine = results["machine"];
  return fmt::format("{}, {}, spscope {}, kernels {}", machine["gpu"].text(), machine["driver"].text(),
                     machine["spscope"].text(), machine["image"].text());
}

const Json* row_of(const Json& rows, std::string_view name) {
  for (const Json& row : rows)
    if (row.contains("name") && row["name"].text() == name) return &row;
  return nullptr;
}

bool has_run(const Json& check) { return check["status"].text() != "not run"; }

// Nothing where the figure is not there, or is no number, as nan and infinities are in JSON.
std::optional<double> value_of(const Json* figure) {
  if (figure == nullptr || !(*figure)["value"].is_number()) return std::nullopt;
  return (*figure)["value"].number();
}

std::string number_text(std::optional<double> value) { return value ? fmt::format("{:.4g}", *value) : "-"; }

// Of a figure of which at least one has a number.
std::string figure_line(const std::string& check, const Json& figure, const Json* before, const Json* after) {
  const std::optional<double> a = value_of(before), b = value_of(after);
  if (!a && !b) return "";
  return fmt::format("{:<16} {:<48} {:>10} {:>10} {:>7}  {}\n", check, figure["name"].text(), number_text(a),
                     number_text(b), a && b && *a != 0 ? fmt::format("{:.3f}", *b / *a) : "-", figure["unit"].text());
}

// Both have run the check.
std::string figure_lines(const std::string& check, const Json& before, const Json& after) {
  std::string lines;
  for (const Json& figure : before["figures"])
    lines += figure_line(check, figure, &figure, row_of(after["figures"], figure["name"].text()));
  for (const Json& figure : after["figures"])
    if (row_of(before["figures"], figure["name"].text()) == nullptr)
      lines += figure_line(check, figure, nullptr, &figure);
  return lines;
}

}  // namespace

std::string difference(const std::string& a, const std::string& b) {
  const Json first = read_results(a), second = read_results(b);
  std::string text = fmt::format("A: {} ({})\nB: {} ({})\n", whose(first), a, whose(second), b), figures;
  std::vector<std::string> in_one[2];
  for (const Json& before : first["checks"]) {
    const std::string& name = before["name"].text();
    const Json* const after = row_of(second["checks"], name);
    const bool ran[] = {has_run(before), after != nullptr && has_run(*after)};
    if (!ran[0] && !ran[1]) continue;
    if (ran[0] != ran[1]) {
      in_one[ran[0] ? 0 : 1].push_back(name);
      continue;
    }
    if (before["status"].text() != (*after)["status"].text()) {
      const std::string& reason = (*after)["reason"].text();
      text += fmt::format("{}: {} in A, {} in B{}{}\n", name, before["status"].text(), (*after)["status"].text(),
                          reason.empty() ? "" : ": ", reason);
    }
    figures += figure_lines(name, before, *after);
  }
  for (const Json& check : second["checks"])
    if (row_of(first["checks"], check["name"].text()) == nullptr && has_run(check))
      in_one[1].push_back(check["name"].text());
  for (int i = 0; i < 2; ++i)
    if (!in_one[i].empty()) text += fmt::format("only {} ran {}\n", i == 0 ? "A" : "B", fmt::join(in_one[i], ", "));
  return text + fmt::format("{:<16} {:<48} {:>10} {:>10} {:>7}  {}\n", "check", "figure", "A", "B", "B / A", "unit") +
         figures;
}

}  // namespace spscope::gpu_check
