// TimedExperiment: a plan of the calibration on a GPU, run again and again; and the series of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "backend/execute/calibrate/calibrate_experiment.h"
#include "backend/execute/cuda/gate.h"
#include "backend/execute/cuda/held_processors.h"
#include "backend/execute/cuda/rank_steps.h"

namespace spscope::cuda {

// The device that is measured.
struct Bench {
  Gpu& gpu;
  Gate& gate;
  const std::atomic<bool>* interrupt = nullptr;

  void throw_if_interrupted() const;  // throws Error(kInterrupted)
};

class TimedExperiment {
 public:
  // Of one rank. The experiment and the GPU outlive it. Throws Error.
  TimedExperiment(const Experiment& experiment, Gpu& gpu);

  // Runs it once. Nanoseconds by OpId; 0 of ops that are part of another's kernel. Throws Error.
  std::vector<std::int64_t> run(const Bench& bench);
  const RankSteps& steps() const { return steps_; }

 private:
  const Plan& plan_;
  const MemoryLayout layout_;
  DeviceSlots slots_;
  RankSteps steps_;
};

// As run_series() of the CPU. Throws Error.
void run_series(Series& series, double seconds, const Bench& bench);

// Median of the attention's times beside held SMs over the median of those alone, >= 1; the spread is that of the
// rounds' ratios. Throws Error.
Measured measure_slowdown(const Experiment& attention, int held_sms, double seconds, const Bench& bench);

// Launches as a run enqueues ops of compute: nanoseconds of the host for each, and of the device between the end of one
// and the begin of the next.
struct LaunchTimes {
  Measured host_ns, gap_ns;
};
// Throws Error.
LaunchTimes measure_launches(const Experiment& small, double seconds, const Bench& bench);

}  // namespace spscope::cuda
