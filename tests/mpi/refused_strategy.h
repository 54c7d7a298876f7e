// A run of a real world in which the plan of one strategy breaks a rule.
#pragma once

#include "backend/execute/rank_world.h"

namespace spscope {

// Every process calls it. `ulysses` has no plan in the second denoise step: it is refused, and `ring` runs to its end.
// The exit code.
int run_refused(RankWorld& world);

}  // namespace spscope
