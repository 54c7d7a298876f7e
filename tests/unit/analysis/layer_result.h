// A layer pass of a strategy with its makespan, for tests of what is read from many of them.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/analysis/strategy_result.h"

namespace spscope::testing {

inline LayerResult pass(int layer, int denoise_step, std::optional<std::int64_t> makespan_ns) {
  LayerResult result;
  result.layer = layer;
  result.denoise_step = denoise_step;
  result.makespan_ns = makespan_ns;
  return result;
}

}  // namespace spscope::testing
