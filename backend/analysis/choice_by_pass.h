// What choosing a strategy anew for each layer pass would save over one strategy for all of them: masks differ from
// pass to pass, and with them the strategy that is fastest.
#pragma once

#include <optional>

#include "backend/analysis/judgement.h"

namespace spscope {

// 1 - (sum over layer passes of the least makespan) / (sum of those of the fastest strategy). Chosen from those of
// `ranked` that have the layer passes of the fastest. What it takes to move rows between layers is not counted. Absent
// for fewer than two strategies or layer passes, and for measured times, of which the least in each pass is partly
// noise.
std::optional<double> saved_by_pass(const Judgement& judgement);

}  // namespace spscope
