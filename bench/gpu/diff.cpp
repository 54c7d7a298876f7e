#include "bench/gpu/diff.h"

#include <fmt/format.h>

#include "backend/base/error.h"
#include "bench/gpu/check.h"
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

}  // namespace

std::string difference(const std::string& a, const std::string& b) {
  const Json first = read_results(a), second = read_results(b);
  std::string text = fmt::format("A: {} ({})\nB: {} ({})\n", whose(first), a, whose(second), b), figures;
  for (const Json& before : first["checks"]) {
    const std::string& name = before["name"].text();
    const Json* const after = row_of(second["checks"], name);
    if (after == nullptr) continue;
    if (before["status"].text() != (*after)["status"].text()) {
      const std::string& reason = (after->contains("reason") ? *after : before)["reason"].text();
      text += fmt::format("{}: {} in A, {} in B{}{}\n", name, before["status"].text(), (*after)["status"].text(),
                          reason.empty() ? "" : ": ", reason);
    }
    if (!before.contains("figures") || !after->contains("figures")) continue;
    for (const Json& figure : before["figures"])
      if (const Json* const other = row_of((*after)["figures"], figure["name"].text());
          other != nullptr && figure["value"].is_number() && (*other)["value"].is_number())
        figures += fmt::format("{:<16} {:<48} {:>10.4g} {:>10.4g} {:>7.3f}  {}\n", name, figure["name"].text(),
                               figure["value"].number(), (*other)["value"].number(),
                               (*other)["value"].number() / figure["value"].number(), figure["unit"].text());
  }
  return text + fmt::format("{:<16} {:<48} {:>10} {:>10} {:>7}  {}\n", "check", "figure", "A", "B", "B / A", "unit") +
         figures;
}

}  // namespace spscope::gpu_check
