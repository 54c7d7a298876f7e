#include "backend/analysis/layer_spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "backend/analysis/comparison.h"

namespace spscope {
namespace {

template <typename T>
std::optional<OverLayers> spread_of(const StrategyResult& result, std::optional<T> RunFigures::*figure) {
  std::vector<double> values;
  for (const LayerResult& layer : result.by_layer)
    if (const auto value = layer.*figure) values.push_back(static_cast<double>(*value));
  return over_layers(values);
}

}  // namespace

std::optional<OverLayers> over_layers(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto [min, max] = std::ranges::minmax_element(values);
  return OverLayers{*min, *max, std::sqrt(squares / (count - 1))};
}

void set_layer_spread(StrategyResult& result) {
  LayerSpread& spread = result.over_layers;
  spread.makespan_ns = spread_of(result, &RunFigures::makespan_ns);
  spread.imbalance_ratio = spread_of(result, &RunFigures::imbalance_ratio);
  spread.barrier_imbalance_ratio = spread_of(result, &RunFigures::barrier_imbalance_ratio);
  spread.coupled_imbalance_ratio = spread_of(result, &RunFigures::coupled_imbalance_ratio);
}

void set_speedup_spread(std::vector<StrategyResult>& strategies) {
  for (StrategyResult& s : strategies) {
    s.over_layers.speedup.reset();
    const StrategyResult* first = baseline(strategies, s.mode);
    if (!s.speedup || !first) continue;
    std::map<std::pair<int, int>, std::int64_t> of_first;
    for (const LayerResult& layer : first->by_layer)
      if (layer.makespan_ns) of_first[{layer.denoise_step, layer.layer}] = *layer.makespan_ns;
    std::vector<double> ratios;
    for (const LayerResult& layer : s.by_layer) {
      const auto found = of_first.find({layer.denoise_step, layer.layer});
      if (found != of_first.end() && layer.makespan_ns.value_or(0) > 0)
        ratios.push_back(static_cast<double>(found->second) / static_cast<double>(*layer.makespan_ns));
    }
    s.over_layers.speedup = over_layers(ratios);
  }
}

}  // namespace spscope
