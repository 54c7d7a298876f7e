// Strategies that cannot run, in one line with their reasons.
#pragma once

#include <span>
#include <string>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// "dsp (attention is over ...), ring. ring needs 30 of 24 GiB. It fits from 8 ranks": those with one reason stand
// together, and so do those that memory refuses and the same change would help, with what the first of them needs. ""
// when all can run.
std::string refused_text(std::span<const StrategyResult* const> strategies);

}  // namespace spscope
