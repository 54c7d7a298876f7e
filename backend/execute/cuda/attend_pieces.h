// The launch of an attend op: its rows and keys as pieces for thread blocks.
#pragma once

#include "backend/execute/cuda/op_work.h"

namespace spscope::cuda {

// One launch over all heads, sequences and batch entries; the pieces with the most keys come first.
Launch make_attend(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, int compute_capability,
                   LaunchTable& table);

}  // namespace spscope::cuda
