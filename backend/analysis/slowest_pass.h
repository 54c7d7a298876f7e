// The layer pass that is shown where none was asked for: in the window, in `spscope explain`, and in the pictures of
// reports.
#pragma once

#include <compare>
#include <optional>
#include <span>

#include "backend/analysis/strategy_result.h"

namespace spscope {

struct PassPlace {
  int denoise_step = 0, layer = 0;
  friend auto operator<=>(const PassPlace&, const PassPlace&) = default;
};

struct AskedPass {
  std::optional<int> layer, denoise_step;  // absent: any
};

// The pass that takes longest, the makespans of all strategies together; of equal ones, as where no times are known,
// the first by denoise step, then layer. Absent where no strategy has what is asked for.
std::optional<PassPlace> slowest_pass(std::span<const StrategyResult* const> strategies, const AskedPass& asked = {});

}  // namespace spscope
