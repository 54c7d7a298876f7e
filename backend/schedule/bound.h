// A lower bound on the makespan of every strategy ("best possible" in reports).
#pragma once

#include <cstdint>

#include "backend/config/cluster.h"
#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope {

// A lower bound, in nanoseconds, on the makespan of every plan of this request with compute times from the profile, on
// any network.
//
// Proof. However a plan divides the layer, its attends together cover every active (head, query, key) once and launch
// at least one kernel, every query with an active key is a row of at least one attend, and its other compute has the
// FLOPs and at least the bytes of the plan `single`, kernel by kernel, so that passes over bytes count alike. The costs
// are affine with coefficients >= 0 (or the maximum of two such), and issue times only delay, so the sum over ranks is
// at least the sum of these; the slowest rank has at least the mean; and a rank's compute runs one op at a time.
//
// `single` is the plan of the strategy `single` for the same layer; of its attends only the axes are read.
std::int64_t makespan_bound_ns(const Request& request, const Plan& single, const KernelCostProfile& profile);

}  // namespace spscope
