#include "backend/analysis/slowest_pass.h"

#include <algorithm>
#include <map>

namespace spscope {

std::optional<PassPlace> slowest_pass(std::span<const StrategyResult* const> strategies, const AskedPass& asked) {
  std::map<PassPlace, std::int64_t> sums_ns;
  for (const StrategyResult* strategy : strategies)
    for (const LayerResult& layer : strategy->by_layer)
      if (asked.layer.value_or(layer.layer) == layer.layer &&
          asked.denoise_step.value_or(layer.denoise_step) == layer.denoise_step)
        sums_ns[{layer.denoise_step, layer.layer}] += layer.makespan_ns.value_or(0);
  const auto slowest = std::ranges::max_element(sums_ns, {}, [](const auto& pass) { return pass.second; });
  return slowest != sums_ns.end() ? std::optional(slowest->first) : std::nullopt;
}

}  // namespace spscope
