#include "backend/report/metrics.h"

namespace spscope {

std::span<const Definition> metrics() {
  static const std::vector<Definition> table = {
#define METRIC(id, title, unit, meaning, not_for) {#id, title, unit, meaning, not_for},
#include "backend/report/metrics.def"
#undef METRIC
  };
  return table;
}

std::string metric_title(std::string_view id) {
  for (const Definition& metric : metrics())
    if (metric.id == id) return metric.title;
  return {};
}

}  // namespace spscope
