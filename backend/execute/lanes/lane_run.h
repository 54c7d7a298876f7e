// LaneRun: ranks on the cores of a processor. Every rank is a compute thread (lane 0) and one thread for each
// communication lane it uses, so that communication overlaps compute as it does on streams of a GPU. Each lane runs its
// ops in post order; an op waits for the ops it depends on.
//
// Executors differ in which ranks a process holds, in their device (memory and kernels), in where the run's progress
// lies, and in the communicator between ranks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/execute/lanes/communicator.h"
#include "backend/execute/lanes/device.h"
#include "backend/execute/lanes/rank_run.h"

namespace spscope {

struct LaneRun : RankRun {
  using RankRun::RankRun;

  // Set by the executor before the first repeat.
  std::unique_ptr<Device> device;
  std::unique_ptr<Communicator> communicator;

  // Most bytes of staging by rank: of kernels and of the communicator.
  std::vector<std::int64_t> staging_peak_bytes() const;
};

// Closes all slots of the local ranks and fills those of their inputs.
void fill_inputs(LaneRun& run, const Activations& activations);

// The outputs, when all ranks are of this process.
std::vector<OutputTensor> gather_outputs(const LaneRun& run);

// Runs every lane of the process once, as run_threads() does.
std::int64_t run_lanes(const std::shared_ptr<LaneRun>& run, int repeat, const std::function<void()>& meet = {});

}  // namespace spscope
