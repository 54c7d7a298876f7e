#include "backend/report/metrics.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "backend/store/figures.h"

namespace spscope {

namespace {

struct FigureUnit {
  std::string_view end, name;  // of a figure, of its unit
  Hint hint;
};
constexpr FigureUnit kUnits[] = {{"_ns", "time", Hint::kDuration},
                                 {"_bytes", "bytes", Hint::kMemory},
                                 {"_ratio", "ratio", Hint::kRatio},
                                 {"_fraction", "percent", Hint::kPercent},
                                 {"", "count", Hint::kCount}};

const FigureUnit& unit_of(std::string_view figure) {
  return *std::ranges::find_if(kUnits, [&](const FigureUnit& unit) { return figure.ends_with(unit.end); });
}

std::vector<Definition> all_metrics() {
  std::vector<Definition> table = {
#define METRIC(id, title, unit, meaning, not_for) {#id, title, unit, meaning, not_for},
#include "backend/report/metrics.def"
#undef METRIC
  };
  for_each_figure([&](const FigureRow& figure, auto) {
    if (!figure.is_last()) return;
    std::string title(figure.heading);
    title.front() = static_cast<char>(std::toupper(title.front()));
    table.push_back({std::string(figure.name), std::move(title), std::string(unit_of(figure.name).name),
                     std::string(figure.text), std::string(figure.not_for)});
  });
  return table;
}

}  // namespace

std::span<const Definition> metrics() {
  static const std::vector<Definition> table = all_metrics();
  return table;
}

Hint hint_of(std::string_view figure) { return unit_of(figure).hint; }

std::string metric_title(std::string_view id) {
  for (const Definition& metric : metrics())
    if (metric.id == id) return metric.title;
  return {};
}

}  // namespace spscope
