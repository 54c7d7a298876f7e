// From one strategy to another, layer pass by layer pass: how much longer each takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

struct PassChange {
  int layer = 0, denoise_step = 0;
  std::int64_t from_ns = 0, to_ns = 0, change_ns = 0;  // makespans, and to_ns - from_ns
  std::optional<double> ratio;                         // to_ns / from_ns; absent when that took no time
};

// Of the layer passes of which both have times, in the order of `from`.
std::vector<PassChange> pass_changes(const StrategyResult& from, const StrategyResult& to);

}  // namespace spscope
