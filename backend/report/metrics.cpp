#include "backend/report/metrics.h"

#include <cctype>
#include <string>
#include <vector>

namespace spscope {

namespace {

std::vector<Definition> all_metrics() {
  std::vector<Definition> table;
  const auto add = [&](std::string id, std::string title, std::string unit, std::string meaning, std::string not_for) {
    if (!title.empty()) table.push_back({std::move(id), title, unit, meaning, not_for});
  };
#define METRIC(id, ...) add(#id, __VA_ARGS__);
#define FIGURE(name, type, unit, column, passes, seeds, place, title, text, not_for) \
  add(metric_of(#name), title, unit, text, not_for);
#define RANK_FIGURE(name, member, unit, passes, seeds, title, text, not_for) \
  add(metric_of(#name), title, unit, text, not_for);
#include "backend/store/figures.def"
  return table;
}

}  // namespace

std::span<const Definition> metrics() {
  static const std::vector<Definition> table = all_metrics();
  return table;
}

std::string metric_title(std::string_view id) {
  for (const Definition& metric : metrics())
    if (metric.id == id) return metric.title;
  return {};
}

std::string metric_of(std::string_view figure) {
  for (const std::string_view unit : {"_ns", "_bytes"})
    if (figure.ends_with(unit)) figure.remove_suffix(unit.size());
  return std::string(figure);
}

std::string heading_of(const FigureRow& figure) {
  std::string heading(figure.title);
  heading.front() = static_cast<char>(std::tolower(heading.front()));
  return heading;
}

Hint hint_of(const FigureRow& figure) {
  if (figure.unit == "time") return Hint::kDuration;
  if (figure.unit == "bytes") return Hint::kMemory;
  if (figure.unit == "ratio") return Hint::kRatio;
  if (figure.unit == "x") return Hint::kSpeedup;
  return figure.unit == "count" ? Hint::kCount : Hint::kPercent;
}

}  // namespace spscope
