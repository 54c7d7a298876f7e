#include "backend/analysis/name_means.h"

#include "backend/store/timeline_events.h"

namespace spscope {

std::map<std::string, double> mean_by_name(const Plan& plan, const Timeline& timeline) {
  std::map<std::string, double> means;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const OpTimes& t = timeline.ops[i];
    means[op_name(plan, plan.ops[i])] += static_cast<double>(t.end_ns - t.begin_ns);
  }
  for (auto& [name, ns] : means) ns /= plan.ranks;
  return means;
}

}  // namespace spscope
