// Files between processes of a real world, on one host or on two.
#pragma once

#include "backend/execute/rank_world.h"

namespace spscope {

// Every process calls it. The last rank sends rank 0 files of sizes around that of a piece; rank 0 compares. The exit
// code.
int run_transfers(RankWorld& world);

}  // namespace spscope
