// measure(): the compute of a plan, every rank alone and one rank at a time, on the first GPU of this machine, between
// two events around each op. A GPU is one rank's, so that a rank alone is also one whose device is fully in use:
// MeasureLoad::kLoaded changes nothing.
//
// Nothing is communicated: what a message would bring is filled in from the layer's input, outside the timed part, as
// on the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/measure.h"

namespace spscope::cuda {

// measure_compute() of a GPU.
std::vector<std::vector<std::int64_t>> measure(const Plan& plan, const Request& request, const Activations& activations,
                                               const MeasureOptions& options);

}  // namespace spscope::cuda
