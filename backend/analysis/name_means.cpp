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

std::vector<NameChange> name_changes(const Plan& from, const Timeline& from_times, const Plan& to,
                                     const Timeline& to_times) {
  std::map<std::string, NameChange> changes;
  for (const auto& [name, ns] : mean_by_name(from, from_times)) changes[name].from_ns = ns;
  for (const auto& [name, ns] : mean_by_name(to, to_times)) changes[name].to_ns = ns;
  std::vector<NameChange> list;
  for (auto& [name, change] : changes) {
    change.name = name;
    change.change_ns = change.to_ns - change.from_ns;
    list.push_back(change);
  }
  return list;
}

}  // namespace spscope
