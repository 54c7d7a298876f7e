// measure(): the compute of a plan, every rank alone and one rank at a time, on one core of this machine: real kernels
// on real tiles, without the disturbance of running many ranks on few cores. With MeasureLoad::kLoaded, a second thread
// runs the same op on buffers of its own at the same time, as when every core is a rank.
//
// A rank runs its compute ops in program order on its own buffers. Nothing is communicated: q, k and v are parts of the
// layer's input wherever they travel, so what a message would bring is filled in from there, outside the timed part.
// Times are CPU times of the thread, so a program that takes the core away for a while does not count.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/execute/measure.h"

namespace spscope {

// measure_compute() of the processor. Requires and throws what measure() does.
std::vector<std::vector<std::int64_t>> measure_repeats(const Plan& plan, const Request& request,
                                                       const Activations& activations,
                                                       const MeasureOptions& options = {});

// Nanoseconds of each op by OpId, the median over repeats; 0 for communication. Every rank is measured: equal counts of
// tiles are not equal work. REQUIRES: cannot_execute(plan) is empty. Throws Error: kActivations, kInterrupted.
std::vector<std::int64_t> measure(const Plan& plan, const Request& request, const Activations& activations,
                                  const MeasureOptions& options = {});

}  // namespace spscope
