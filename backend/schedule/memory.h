// Memory of a plan at each rank for activations: values and accumulators, without weights and without the staging
// buffers of an executor.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"

namespace spscope {

// Peak bytes by rank that no legal execution exceeds, for any speeds of ranks, lanes and network, if a buffer is
// allocated when its first writer posts and released once all its users are known at its rank to have ended. The end of
// an op of the same rank is known by lane order and dependencies, of an op of another rank by a direct dependency or a
// common barrier. REQUIRES: verify(plan) is empty.
std::vector<std::int64_t> memory_bound(const Plan& plan);

// Peak bytes by rank along one schedule: a buffer lives from the post of its first writer to the end of its last user,
// an input from the start, an output to the end.
std::vector<std::int64_t> memory(const Plan& plan, const Timeline& timeline);

}  // namespace spscope
