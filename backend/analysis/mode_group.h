// The strategies of a comparison by mode: figures of different modes are never in one table.
#pragma once

#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

struct ModeGroup {
  RunMode mode;
  const Comparison* of;
  // Fastest first, then those without a time, each in stored order. In stored order throughout where times do not
  // compare: oversubscribed ones, plans.
  std::vector<const StrategyResult*> strategies;
};
// The modes that occur, in stored order.
std::vector<ModeGroup> by_mode(const Comparison& comparison);

bool oversubscribed(const StrategyResult& strategy);

}  // namespace spscope
