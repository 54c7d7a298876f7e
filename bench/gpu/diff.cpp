#include "bench/gpu/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace

std::string difference(const std::string& a, const std::string& b) {
  const Json first = read_results(a), second = read_results(b);
  std::string text = fmt::format("A: {} ({})\nB: {} ({})\n", whose(first), a, whose(second), b), figures;
  std::vector<std::string> in_one[2];
  for (const Json& before : first["checks"]) {
    const std::string& name = before["name"].text();
    const Json* const after = row_of(second["checks"], name);
    if (after == nullptr) continue;
    const bool ran[] = {has_run(before), has_run(*after)};
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
    for (const Json& figure : before["figures"])
      if (const Json* const other = row_of((*after)["figures"], figure["name"].text());
          other != nullptr && figure["value"].is_number() && (*other)["value"].is_number())
        figures += fmt::format("{:<16} {:<48} {:>10.4g} {:>10.4g} {:>7.3f}  {}\n", name, figure["name"].text(),
                               figure["value"].number(), (*other)["value"].number(),
                               (*other)["value"].number() / figure["value"].number(), figure["unit"].text());
  }
  for (int i = 0; i < 2; ++i)
    if (!in_one[i].empty()) text += fmt::format("only {} ran {}\n", i == 0 ? "A" : "B", fmt::join(in_one[i], ", "));
  return text + fmt::format("{:<16} {:<48} {:>10} {:>10} {:>7}  {}\n", "check", "figure", "A", "B", "B / A", "unit") +
         figures;
}

}  // namespace spscope::gpu_check
