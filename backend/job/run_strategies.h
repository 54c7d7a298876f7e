// A layer pass under every strategy of the job: its plan, then its times, executed or scheduled, and what its outputs
// are worth.
#pragma once

#include <optional>
#include <vector>

#include "backend/job/prepare_pass.h"

namespace spscope {

// One run for each strategy that is legal. A strategy whose plan is refused is not legal from then on. `where.request`
// is of the guidance passes that run at once. Nothing when it was interrupted. Throws Error as time_layer() does.
std::optional<std::vector<StrategyRun>> run_strategies(RunningJob& running, const LayerOfJob& where,
                                                       const LayerInputs& inputs);

}  // namespace spscope
