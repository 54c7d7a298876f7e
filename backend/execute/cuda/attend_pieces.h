// The launch of an attend op: its rows and keys as pieces for thread blocks.
#pragma once

#include "backend/execute/cuda/op_work.h"

namespace spscope::cuda {

// One launch over all heads, sequences and batch entries. The pieces of a head and sequence follow each other, so that
// its keys stay in the L2 cache, those with the most keys first; of all heads together the last ones, which run when
// SMs fall idle, so many that each SM gets several.
Launch make_attend(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, const GpuFacts& gpu,
                   LaunchTable& table);

}  // namespace spscope::cuda
