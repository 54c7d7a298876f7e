#include "backend/analysis/mode_group.h"

#include <algorithm>
#include <limits>

namespace spscope {
namespace {

// Times of wrong outputs mean nothing, so these stand behind all others.
std::int64_t place_in_order(const StrategyResult* s) {
  if (!s->makespan_ns) return std::numeric_limits<std::int64_t>::max();
  return s->verify == "failed" ? std::numeric_limits<std::int64_t>::max() - 1 : *s->makespan_ns;
}

}  // namespace

std::vector<ModeGroup> by_mode(const Comparison& comparison) {
  std::vector<ModeGroup> groups;
  for (const StrategyResult& strategy : comparison.strategies) {
    auto group = std::ranges::find(groups, strategy.mode, &ModeGroup::mode);
    if (group == groups.end()) group = groups.insert(groups.end(), {strategy.mode, &comparison, {}});
    group->strategies.push_back(&strategy);
  }
  for (ModeGroup& group : groups)
    if (std::ranges::none_of(group.strategies, [](const StrategyResult* s) { return oversubscribed(*s); }))
      std::ranges::stable_sort(group.strategies, {}, place_in_order);
  return groups;
}

bool oversubscribed(const StrategyResult& strategy) {
  return strategy.provenance && strategy.provenance->timing == Timing::kOversubscribed;
}

}  // namespace spscope
