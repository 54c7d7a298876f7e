#include "backend/analysis/choice_by_pass.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

namespace spscope {

std::optional<double> saved_by_pass(const Judgement& judgement) {
  if (judgement.lead == Lead::kUnknown || judgement.ranked.front()->mode != RunMode::kSimulate) return std::nullopt;
  const std::vector<LayerResult>& fixed = judgement.ranked.front()->by_layer;
  const auto pass_of = [](const LayerResult& l) {
    return std::tuple(l.denoise_step, l.layer, l.makespan_ns.has_value());
  };
  std::vector<const StrategyResult*> choices = judgement.ranked;
  std::erase_if(choices,
                [&](const StrategyResult* s) { return !std::ranges::equal(s->by_layer, fixed, {}, pass_of, pass_of); });
  if (fixed.size() < 2 || choices.size() < 2) return std::nullopt;
  std::int64_t fixed_ns = 0, chosen_ns = 0;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    if (!fixed[i].makespan_ns) return std::nullopt;
    fixed_ns += *fixed[i].makespan_ns;
    const auto makespan = [i](const StrategyResult* s) { return *s->by_layer[i].makespan_ns; };
    chosen_ns += makespan(*std::ranges::min_element(choices, {}, makespan));
  }
  if (fixed_ns == 0) return std::nullopt;
  return 1 - static_cast<double>(chosen_ns) / static_cast<double>(fixed_ns);
}

}  // namespace spscope
