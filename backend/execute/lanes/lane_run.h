// LaneRun: the ranks of one process at work. Every rank is a compute thread (lane 0) and one thread for each
// communication lane it uses, so that communication overlaps compute as it does on streams of a GPU. Each lane runs its
// ops in post order; an op waits for the ops it depends on. The caller's thread watches: it stops the run when a rank
// fails, when no rank makes progress, and when the user interrupts.
//
// Executors differ in which ranks a process holds, in their device (memory and kernels), in where the run's progress
// lies, and in the communicator between ranks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/lanes/communicator.h"
#include "backend/execute/lanes/device.h"
#include "backend/execute/lanes/run_control.h"
#include "backend/execute/program/program.h"

namespace spscope {

// All that lanes touch. Shared by the caller and the lanes, so that a lane that is left behind finds it in place.
struct LaneRun {
  LaneRun(const Plan& plan, const ExecuteOptions& chosen, const RankView& view)
      : options(chosen), program(plan, view), times(plan.ops.size()) {}
  LaneRun(const LaneRun&) = delete;

  // Set by the executor before the first repeat.
  const ExecuteOptions options;
  Program program;
  std::unique_ptr<Device> device;
  std::unique_ptr<RunControl> control;
  std::unique_ptr<Communicator> communicator;
  SystemView system;  // of ranks in other processes; empty: all ranks are threads of this one

  std::vector<OpTimes> times;  // by op of this process, on the raw clock
  std::atomic<bool> may_start{false};
  std::mutex mutex;
  std::condition_variable lane_left;
  std::size_t lanes_left = 0;
  bool all_left = true;  // of the last repeat: false when a lane did not come back from a stop

  // Most bytes of staging by rank: of kernels and of the communicator.
  std::vector<std::int64_t> staging_peak_bytes() const;
};

// Closes all slots of the local ranks and fills those of their inputs.
void fill_inputs(LaneRun& run, const Activations& activations);

// When all ranks are of this process: the outputs, and a timeline whose times start at `start_ns`.
std::vector<OutputTensor> gather_outputs(const LaneRun& run);
Timeline timeline_since(std::int64_t start_ns, std::vector<OpTimes> raw_times);

// Runs every lane of the process once, the given repeat (< 0: a warm-up), and returns when they could start, on the raw
// clock. `meet` is called when all lanes are there and wait: processes that start together meet in it. It does not
// throw; it stops the run instead. Throws Error: the first reason to stop, when there was one.
std::int64_t run_lanes(const std::shared_ptr<LaneRun>& run, int repeat, const std::function<void()>& meet = {});

// What a process does while it waits for lanes or for other processes: stops a run in which nobody makes progress any
// more, and notices that another process has stopped it. A run that waits for a rank that computes is not stopped.
class ProgressWatch {
 public:
  // A hang is a rank that is inside an op or lost, and does not compute, while nobody makes progress for
  // `patience_seconds`.
  ProgressWatch(LaneRun& run, double patience_seconds) : run_(run), patience_seconds_(patience_seconds) {}
  // To be called again and again; looks every 10 ms. True: the run has been stopping for longer than its grace period.
  bool look();

 private:
  void judge();

  LaneRun& run_;
  const double patience_seconds_;
  std::int64_t progress_ = -1, progress_ns_ = 0, looked_ns_ = 0, stopped_ns_ = 0;
};

bool interrupted(const ExecuteOptions& options);

}  // namespace spscope
