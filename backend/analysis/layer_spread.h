// How much the figures of a strategy differ from layer pass to layer pass: masks do, so one pass is one draw.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// Smallest, largest and standard deviation (n - 1 in the denominator); absent for fewer than two values.
std::optional<OverLayers> over_layers(std::span<const double> values);

// Sets StrategyResult::over_layers from by_layer, but for the speed-up.
void set_layer_spread(StrategyResult& result);

// Sets the speed-up of each layer pass over the same one of the baseline of the mode, as
// StrategyResult::over_layers.speedup; only where there is a speed-up. REQUIRES: set_speedups() was called.
void set_speedup_spread(std::vector<StrategyResult>& strategies);

}  // namespace spscope
