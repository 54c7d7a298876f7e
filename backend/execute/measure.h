// measure_compute(): the compute of a plan, every rank alone, by the executor of a device. It is what `project` puts on
// the ranks of a cluster.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "backend/config/run_config.h"
#include "backend/execute/execute.h"

namespace spscope {

struct MeasureOptions {
  int repeats = 3, warmup = 1;
  int threads_per_rank = 1;
  // kLoaded: the same op runs at the same time beside it, as when all of the device is in use.
  MeasureLoad load = MeasureLoad::kAlone;
  // Measuring throws Error(kInterrupted) between kernel calls once it is set.
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(int done_ranks, int ranks)> on_rank;
};

// Nanoseconds of each op by OpId, for every repeat; 0 for communication. Measured by the first available row of the
// device that has `measure`. Ops of different ranks in one repeat did not run at the same time, so repeats say how much
// a rank's times vary.
// Throws Error: kCannotExecute when no row of the device measures; what the row cannot run; kActivations; kInterrupted.
std::vector<std::vector<std::int64_t>> measure_compute(const Plan& plan, const Request& request,
                                                       const Activations& activations, std::string_view device,
                                                       const MeasureOptions& options = {});

}  // namespace spscope
