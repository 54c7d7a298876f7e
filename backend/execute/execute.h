// execute(): runs a plan for real on this machine, every rank with its own memory and threads, and says what happened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/execute/activations.h"
#include "backend/execute/communicator.h"
#include "backend/execute/outputs.h"
#include "backend/execute/rank_world.h"
#include "backend/plan/request.h"
#include "backend/plan/timeline.h"
#include "backend/record/op_recorder.h"

namespace spscope {

struct ExecuteOptions {
  // The processes that run a rank each; nullptr: all ranks are threads of this process. Every process of the world
  // calls execute() with the same plan and options.
  RankWorld* world = nullptr;
  int repeats = 1, warmup = 0;
  int threads_per_rank = 1;
  // Sorts counted bytes into intra and inter node; 0: all ranks on one node. Processes on several nodes go by those.
  int ranks_per_node = 0;
  // A run in which no rank makes progress for so long is stopped; lanes that then do not come back within the grace
  // period are left behind, since a thread cannot be killed, and the process should end.
  double watchdog_seconds = 60, grace_seconds = 5;
  bool poison = false;  // fill unwritten and given-up memory with NaN (tests)
  // Set by a signal handler: the run stops between ops and kernel calls, and execute() throws Error(kInterrupted).
  const std::atomic<bool>* interrupt = nullptr;
  // Called by the lane of an op once its rank is ready for it, before it is posted. May throw, or wait while `stopping`
  // is false: fault injection for tests.
  std::function<void(OpId, const std::atomic<bool>& stopping)> before_op;
  // Told of every op of every repeat, warm-ups included; nullptr: nobody is. Must live until the process ends when
  // execute() leaves a lane behind.
  OpRecorder* recorder = nullptr;
  // Called after each run, warm-ups included, by the caller's thread.
  std::function<void(int done, int total)> on_run;
};

// In a world of processes, timelines of all ranks and outputs are known at rank 0 only; traffic and peaks at all.
struct ExecuteResult {
  std::vector<Timeline> timelines;  // of each repeat; times start when all lanes may start
  std::vector<std::int64_t> makespan_ns;
  CountedBytes traffic;                          // of one repeat
  std::vector<std::int64_t> peak_bytes;          // by rank: values and accumulators, the highest of all repeats
  std::vector<std::int64_t> staging_peak_bytes;  // by rank: kernel workspaces and sums
  std::vector<OutputTensor> outputs;             // of the last repeat
  RunProvenance provenance;
};

// What execute() would refuse; empty when it can run the plan. REQUIRES: verify(plan) is empty.
std::vector<Problem> cannot_execute(const Plan& plan, const ExecuteOptions& options = {});

// Throws Error: with all problems of cannot_execute; kRankFailed or kRankHung naming rank, op, peer, sequence number
// and bytes of the first cause; kInterrupted. In all cases every thread has been told to stop, and has, except one that
// is stuck outside of spscope's code.
ExecuteResult execute(const Plan& plan, const Request& request, const Activations& activations,
                      const ExecuteOptions& options = {});

// One row of executors.def.
struct Executor {
  std::string_view name, summary;
  ExecuteResult (*execute)(const Plan&, const Request&, const Activations&, const ExecuteOptions&);
};
std::span<const Executor> executors();

}  // namespace spscope
