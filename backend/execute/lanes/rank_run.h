// RankRun: the ranks of one process at work, whatever their device: threads that start together, and the caller's
// thread that watches them. It stops the run when a rank fails, when no rank makes progress, and when the user
// interrupts.
//
// What the threads do is the executor's: a CPU rank has one for each of its lanes (lane_run.h), GPU ranks have one that
// enqueues work and one that follows it (execute/cuda).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/lanes/run_control.h"
#include "backend/execute/program/program.h"

namespace spscope {

// What the threads of every executor share with the caller, so that one that is left behind finds it in place.
struct RankRun {
  RankRun(const Plan& plan, const ExecuteOptions& chosen, const RankView& view)
      : options(chosen), program(plan, view), times(plan.ops.size()) {}
  RankRun(const RankRun&) = delete;

  const ExecuteOptions options;
  Program program;
  // Set by the executor before the first repeat.
  std::unique_ptr<RunControl> control;
  SystemView system;  // of the processes of ranks; without `computes`: all ranks are threads of this one

  std::vector<OpTimes> times;  // by op of this process, on the raw clock
  std::atomic<bool> may_start{false};
  std::mutex mutex;
  std::condition_variable thread_left;
  std::size_t threads_left = 0;
  bool all_left = true;  // of the last repeat: false when a thread did not come back from a stop
};

// Runs a thread for each of `mains` once, for the given repeat (< 0: a warm-up), and returns when they could start, on
// the raw clock. Mains do not throw: they stop the run (RunControl::fail). Each holds on to the run. `meet` is called
// when all threads are there and wait: processes that start together meet in it. It does not throw; it stops the run
// instead. Throws Error: the first reason to stop, when there was one.
std::int64_t run_threads(const std::shared_ptr<RankRun>& run, std::vector<std::function<void()>> mains, int repeat,
                         const std::function<void()>& meet = {});

// What a process does while it waits for its threads or for other processes: stops a run in which nobody makes progress
// any more, and notices that another process has stopped it. A run that waits for a rank that computes is not stopped.
class ProgressWatch {
 public:
  // A hang is a rank that is inside an op or lost, and does not compute, while nobody makes progress for
  // `patience_seconds`.
  ProgressWatch(RankRun& run, double patience_seconds) : run_(run), patience_seconds_(patience_seconds) {}
  // To be called again and again; looks every 10 ms. True: the run has been stopping for longer than its grace period.
  bool look();

 private:
  void judge();

  RankRun& run_;
  const double patience_seconds_;
  std::int64_t progress_ = -1, progress_ns_ = 0, looked_ns_ = 0, stopped_ns_ = 0;
};

bool interrupted(const ExecuteOptions& options);

// A timeline whose times start at `start_ns`.
Timeline timeline_since(std::int64_t start_ns, std::vector<OpTimes> raw_times);

}  // namespace spscope
