// How the clocks of the ranks fit together, as the head of a run over several hosts stores it.
#pragma once

#include <cstdint>

#include "backend/execute/rank_world.h"
#include "backend/store/store_writer.h"

namespace spscope {

// At rank 0, after measure_clocks(). The run clock is that of rank 0 from `zero_ns` on. Each rank gets its fit, which
// counts no exchanges where the rank reads that clock itself; exchanges are stored of the rank that made them. Takes
// the place of what was stored before. Nothing when there is only one clock: merge_shards begins it with the first
// event.
void store_clocks(StoreWriter& head, const RankWorld& world, std::int64_t zero_ns);

}  // namespace spscope
