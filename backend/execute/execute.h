// execute(): runs a plan for real on this machine, every rank with its own memory and threads, and says what happened.
//
// Who runs it is an executor: a device (run.device) and a way in which ranks exist and reach each other (run.backend).
// Each is a row of executors.def and a folder; the table is what execute(), the check of configs and `doctor` know of
// them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/execute/activations.h"
#include "backend/execute/outputs.h"
#include "backend/execute/rank_world.h"
#include "backend/plan/request.h"
#include "backend/plan/timeline.h"
#include "backend/record/op_recorder.h"

namespace spscope {

struct ExecuteOptions {
  // Which executor runs the plan, by run.device and run.backend, and how its ranks reach each other (run.comm).
  std::string device = "cpu", backend = "threads", comm = "auto";
  // For executors whose ranks are processes: all of them, this being one. Every process of the world calls execute()
  // with the same plan and options.
  RankWorld* world = nullptr;
  int repeats = 1, warmup = 0;
  int threads_per_rank = 1;
  // Sorts counted bytes into intra and inter node; 0: all ranks on one node. Processes on several nodes go by those.
  int ranks_per_node = 0;
  // A run in which no rank makes progress for so long is stopped; lanes that then do not come back within the grace
  // period are left behind, since a thread cannot be killed, and the process should end. On the CPU a rank that
  // computes is no hang, however long it takes; a kernel of a GPU that takes so long is.
  double watchdog_seconds = 60, grace_seconds = 5;
  // Fill unwritten and given-up memory with NaN (tests); of GPUs, what was given up once it is used again.
  bool poison = false;
  // Set by a signal handler: the run stops between ops and kernel calls, and execute() throws Error(kInterrupted).
  const std::atomic<bool>* interrupt = nullptr;
  // Called by the lane of an op once its rank is ready for it, before it is posted; where ops are enqueued (GPUs), by
  // the thread that does, as ops before it may still run. May throw, or wait while `stopping` is false: fault injection
  // for tests.
  std::function<void(OpId, const std::atomic<bool>& stopping)> before_op;
  // Receives every op of every repeat, warm-ups included; may be nullptr. Must live until the process ends when
  // execute() leaves a lane behind.
  OpRecorder* recorder = nullptr;
  // Called after each run, warm-ups included, by the caller's thread.
  std::function<void(int done, int total)> on_run;
};

// Bytes that really moved between ranks, by rank. A copy inside a rank counts nothing.
struct CountedBytes {
  std::vector<std::int64_t> sent, received, sent_intra_node, sent_inter_node;
};

// In a world of processes, timelines of all ranks and outputs are known at rank 0 only; traffic and peaks at all.
struct ExecuteResult {
  std::vector<Timeline> timelines;  // of each repeat; times start when all lanes may start
  std::vector<std::int64_t> makespan_ns;
  CountedBytes traffic;                          // of one repeat
  std::vector<std::int64_t> peak_bytes;          // by rank: values and accumulators, the highest of all repeats
  std::vector<std::int64_t> staging_peak_bytes;  // by rank: kernel workspaces and sums
  std::vector<OutputTensor> outputs;             // of the last repeat
  // By rank: how long the host takes to enqueue the work of a GPU, over the posts of the plan; nanoseconds, the mean of
  // the repeats. Ranks that share a GPU share it. Empty: ranks are threads of the host.
  std::vector<std::int64_t> host_post_ns;
  RunProvenance provenance;
};

// A plan that an executor has made ready to run, on the ranks of this process.
class Execution {
 public:
  virtual ~Execution() = default;
  // Takes memory and opens communicators. Once, before the first run().
  virtual void allocate() = 0;
  // Runs the plan once; repeat < 0: a warm-up. Throws Error as execute() does.
  virtual void run(int repeat) = 0;
  // By rank, of the last run: most bytes of values and accumulators, and of kernel workspaces and sums.
  virtual std::vector<std::int64_t> peak_bytes() const = 0;
  virtual std::vector<std::int64_t> staging_peak_bytes() const = 0;
  // After the last run: fills in what is not known yet. `result` has the highest peaks of this process's ranks.
  virtual void finish(ExecuteResult& result) = 0;
};

struct CalibrateOptions;
struct Calibration;
struct MeasureOptions;

// "CUDA driver" and "GPU 0": for people.
struct DeviceFact {
  std::string name, value;
};

// One row of executors.def.
struct Executor {
  std::string_view device, backend;         // run.device and run.backend; no two rows have the same pair
  std::span<const std::string_view> comms;  // what run.comm may say; the first is what "auto" means
  bool ranks_are_processes;                 // which mpirun or srun starts; false: threads of the calling process
  std::string_view summary;
  Problem (*unavailable)();  // why this build or machine does not have it; without a message: it is available
  // What it cannot run; empty: it can. REQUIRES: verify(plan) is empty.
  std::vector<Problem> (*cannot_run)(const Plan&, const ExecuteOptions&);
  // Throws Error when the plan cannot be prepared. REQUIRES: cannot_run() is empty, the activations fit the request,
  // and all arguments but the plan and the request outlive what is returned.
  std::unique_ptr<Execution> (*prepare)(const Plan&, const Request&, const Activations&, const ExecuteOptions&);
  // Compute times of every rank alone, for measure_compute() (execute/measure.h); nullptr: the device cannot tell them.
  // REQUIRES: cannot_run() is empty. Throws Error: kActivations, kInterrupted.
  std::vector<std::vector<std::int64_t>> (*measure)(const Plan&, const Request&, const Activations&,
                                                    const MeasureOptions&);
  // What a rank costs, for calibrate() (execute/calibrate/calibrate.h); nullptr: the device cannot tell it.
  Calibration (*calibrate)(const CalibrateOptions&) = nullptr;
};
std::span<const Executor> executors();
// The row of a pair; nullptr: there is none.
const Executor* find_executor(std::string_view device, std::string_view backend);

// The first available row of the device that can do something, `done` ("measured") in words. Throws Error: why there is
// none.
const Executor& row_that_can(std::string_view device, std::string_view done, bool (*can)(const Executor&));

// What is wrong with the pair and run.comm of the options, whatever the plan; empty: nothing.
std::vector<Problem> unknown_executor(const ExecuteOptions& options);

// What execute() would refuse; empty when it can run the plan. REQUIRES: verify(plan) is empty.
std::vector<Problem> cannot_execute(const Plan& plan, const ExecuteOptions& options = {});

// Runs the plan on the executor that the options name.
// Throws Error: with all problems of cannot_execute; kActivations; kRankFailed or kRankHung naming rank, op, peer,
// sequence number and bytes of the first cause; kInterrupted. In all cases every thread has been told to stop, and has,
// except one that is stuck outside of spscope's code.
ExecuteResult execute(const Plan& plan, const Request& request, const Activations& activations,
                      const ExecuteOptions& options = {});

}  // namespace spscope
