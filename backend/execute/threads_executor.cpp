// The thread executor: every rank is a compute thread (lane 0) and one thread for each communication lane it uses, so
// that communication overlaps compute as it does on streams of a GPU. Each lane runs its ops in post order; an op waits
// for the ops it depends on. The caller's thread watches: it stops the run when a rank fails, when no rank makes
// progress, and when the user interrupts.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "backend/base/clock.h"
#include "backend/base/cores.h"
#include "backend/base/error.h"
#include "backend/execute/copy.h"
#include "backend/execute/execute.h"
#include "backend/execute/local_kernels.h"
#include "backend/execute/program.h"
#include "backend/execute/thread_communicator.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);  // how late an interrupt may be seen; costs nothing measurable

// All that lanes touch. Shared by the caller and the lanes, so that a lane that is left behind finds it in place.
struct ThreadRun {
  ThreadRun(const Plan& plan, const Request& request, const Activations& activations, const ExecuteOptions& chosen)
      : options(chosen),
        program(plan, request, activations.parameters),
        store(program.layout(), chosen.poison),
        control(program.plan()),
        communicator(program.plan(), store, control, chosen.ranks_per_node, chosen.recorder),
        scratch(static_cast<std::size_t>(plan.ranks)),
        times(plan.ops.size()) {}

  const ExecuteOptions options;
  Program program;
  BufferStore store;
  RunControl control;
  ThreadCommunicator communicator;
  std::vector<ComputeScratch> scratch;  // by rank
  std::vector<OpTimes> times;           // by op, on the run clock
  std::atomic<bool> may_start{false};
  std::mutex mutex;
  std::condition_variable lane_left;
  std::size_t lanes_left = 0;
};

void run_op(ThreadRun& run, const ProgramLane& lane, OpId id) {
  const ProgramOp& op = run.program.op(id);
  RunControl& control = run.control;
  OpTimes& times = run.times[static_cast<std::size_t>(id)];
  OpRecorder* const recorder = run.options.recorder;
  control.enter(lane.rank, lane.lane, id);
  if (recorder != nullptr) recorder->enter(lane.rank, lane.lane, id, now_ns());
  for (OpId dependency : op.own_dependencies) control.wait_ended(lane.rank, lane.lane, dependency);
  if (run.options.before_op) run.options.before_op(id, control.stopping());
  times.post_ns = now_ns();
  for (OpId dependency : op.remote_dependencies) control.wait_ended(lane.rank, lane.lane, dependency);
  if (op.compute) {
    times.post_ns = times.begin_ns = now_ns();
    if (recorder != nullptr) recorder->phase(lane.rank, lane.lane, id, OpPhase::kComputing, times.begin_ns);
    run_compute(*op.compute, run.store, run.scratch[static_cast<std::size_t>(lane.rank)]);
    times.end_ns = now_ns();
  } else {
    for (SlotId slot : op.opens) run.store.open(slot);
    if (recorder != nullptr) recorder->phase(lane.rank, lane.lane, id, OpPhase::kPosted, times.post_ns);
    run.communicator.run(*op.transfer, times);
  }
  // A lane that was left behind and comes back after the grace period must not touch a recorder that may be gone.
  if (recorder != nullptr && !control.stopping()) recorder->ended(lane.rank, lane.lane, id, times);
  // Before the end is made known: what depends on this op may count on its memory.
  for (SlotId slot : op.uses) run.store.release(slot);
  control.set_ended(id);
}

// The main of a lane; with that of the command line, the place where errors of ranks are caught.
void run_lane(const std::shared_ptr<ThreadRun>& run, const ProgramLane& lane) {
  try {
    run->may_start.wait(false);
    if (lane.lane == 0)
      run->scratch[static_cast<std::size_t>(lane.rank)].beat = [control = &run->control, &lane] {
        control->beat(lane.rank, lane.lane);
      };
    for (OpId id : lane.ops) run_op(*run, lane, id);
    run->control.enter(lane.rank, lane.lane, kNone);
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    run->control.fail(lane.rank, lane.lane, error.what());
  }
  const std::lock_guard lock(run->mutex);
  ++run->lanes_left;
  run->lane_left.notify_all();
}

bool interrupted(const ExecuteOptions& options) { return options.interrupt != nullptr && options.interrupt->load(); }

double seconds_since(std::int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

struct Stopped {
  Error error;
  RankFault fault;  // of a hang
};

// Returns when all lanes have left. A hang or an interrupt stops the run and is returned.
std::optional<Stopped> watch(ThreadRun& run, std::size_t num_lanes, bool& all_left) {
  std::optional<Stopped> stopped;
  std::int64_t progress = -1, progress_ns = now_ns(), stopped_ns = 0;
  std::unique_lock lock(run.mutex);
  for (;;) {
    all_left = run.lane_left.wait_for(lock, kPoll, [&] { return run.lanes_left == num_lanes; });
    if (all_left) return stopped;
    if (const std::int64_t now = run.control.progress(); now != progress) progress = now, progress_ns = now_ns();
    if (!stopped && interrupted(run.options)) stopped = {Error(ErrorCode::kInterrupted, "the run was interrupted"), {}};
    if (!stopped && !run.control.stopping() && seconds_since(progress_ns) > run.options.watchdog_seconds) {
      const RankFault fault = run.control.describe_hang(seconds_since(progress_ns));
      stopped = {Error(ErrorCode::kRankHung, fault.message), fault};
    }
    if (stopped && !run.control.stopping()) run.control.stop();
    if (!run.control.stopping()) continue;
    if (stopped_ns == 0) stopped_ns = now_ns();
    if (seconds_since(stopped_ns) > run.options.grace_seconds) return stopped;
  }
}

// A thread for each lane, waiting for may_start. Throws Error(kRankFailed) when the machine has no more threads to
// give.
std::vector<std::thread> make_lanes(const std::shared_ptr<ThreadRun>& run) {
  run->may_start = false;
  run->lanes_left = 0;
  std::vector<std::thread> threads;
  try {
    for (const ProgramLane& lane : run->program.lanes()) threads.emplace_back([run, &lane] { run_lane(run, lane); });
  } catch (const std::system_error& error) {  // those that started must not be left waiting
    run->control.stop();
    run->may_start = true;
    run->may_start.notify_all();
    for (std::thread& thread : threads) thread.join();
    throw Error(ErrorCode::kRankFailed,
                fmt::format("thread {} of {} cannot be started: {}", threads.size() + 1, run->program.lanes().size(),
                            error.what()),
                "use fewer ranks, or mode = \"project\", which runs one rank at a time");
  }
  return threads;
}

// One run of the layer. repeat < 0: a warm-up.
Timeline run_once(const std::shared_ptr<ThreadRun>& run, const Activations& activations, int repeat) {
  const Plan& plan = run->program.plan();
  if (interrupted(run->options)) throw Error(ErrorCode::kInterrupted, "the run was interrupted");
  run->control.reset();
  run->communicator.reset();
  run->store.start(run->program.users());
  for (SlotId slot : run->program.given()) {
    run->store.open(slot);
    fill_slot(run->store, plan, activations, slot);
  }
  OpRecorder* const recorder = run->options.recorder;
  std::vector<std::thread> threads = make_lanes(run);
  if (recorder != nullptr) recorder->begin_pass(repeat);
  const std::int64_t start_ns = now_ns();
  run->may_start = true;
  run->may_start.notify_all();
  bool all_left = false;
  const std::optional<Stopped> stopped = watch(*run, threads.size(), all_left);
  for (std::thread& thread : threads) all_left ? thread.join() : thread.detach();
  const std::optional<RankFault> failure = run->control.failure();
  if (recorder != nullptr) {
    if (failure) recorder->fault(*failure);
    if (!failure && stopped && stopped->fault.hung) recorder->fault(stopped->fault);
    recorder->end_pass();
  }
  if (failure)
    throw Error(ErrorCode::kRankFailed, failure->message, "see the message of the rank; all other ranks were stopped");
  if (stopped) throw stopped->error;
  Timeline timeline{run->times};
  for (OpTimes& t : timeline.ops) t.post_ns -= start_ns, t.begin_ns -= start_ns, t.end_ns -= start_ns;
  return timeline;
}

void keep_highest(std::vector<std::int64_t>& highest, const std::vector<std::int64_t>& now) {
  highest.resize(now.size(), 0);
  for (std::size_t i = 0; i < now.size(); ++i) highest[i] = std::max(highest[i], now[i]);
}

std::vector<std::int64_t> staging_bytes(const ThreadRun& run) {
  std::vector<std::int64_t> bytes = run.communicator.staging_peak_bytes();
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) bytes[rank] += run.scratch[rank].staging_bytes();
  return bytes;
}

// What no kernel of the CPU executor computes, and inputs and outputs that are not those of an attention or a layer.
std::vector<Problem> unknown_work(const Plan& plan) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string message, std::string hint) {
    problems.push_back({ErrorCode::kCannotExecute, "plan", std::move(message), std::move(hint)});
  };
  bool multiplies = false;
  std::vector<bool> refused(plan.kernels.size(), false);
  for (const Post& post : plan.posts) {
    if (post.kind != PostKind::kLocal) continue;
    const auto id = static_cast<std::size_t>(post.kernel);
    const Kernel& kernel = plan.kernels[id];
    if (!is_known_work(plan, post) && !refused[id])
      refuse(fmt::format("the executor threads has no kernel \"{}\" for these operands", kernel.name),
             "set run.scope = \"attention\"");
    refused[id] = refused[id] || !is_known_work(plan, post);
    multiplies = multiplies || (kernel.contracts && find_local_kernel(kernel.name) == nullptr);
  }
  if (multiplies && !kernels::gemm_unavailable().empty())
    refuse(fmt::format("a whole layer needs matrix products, and {}", kernels::gemm_unavailable()),
           "install libdnnl-dev and configure again, or set run.scope = \"attention\" or run.mode = \"simulate\"");
  for (const Value& value : plan.values)
    if (value.given && value.tensors != kQueries && value.tensors != kKeysValues && value.tensors != kHiddenState)
      refuse(fmt::format("the input {} is not one of q, k, v and x", tensor_set_name(value.tensors)),
             "set run.scope = \"attention\"");
  for (const Output& output : plan.outputs)
    if (const Value& value = plan.values[static_cast<std::size_t>(output.value)];
        value.tensors != kOutputs && value.tensors != kHiddenState)
      refuse(fmt::format("the output {} is neither of an attention nor of a layer", tensor_set_name(value.tensors)),
             "set run.scope = \"attention\"");
  return problems;
}

}  // namespace

std::vector<Problem> cannot_execute(const Plan& plan, const ExecuteOptions& options) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string field, std::string message, std::string hint) {
    problems.push_back({ErrorCode::kCannotExecute, std::move(field), std::move(message), std::move(hint)});
  };
  if (options.threads_per_rank != 1)
    refuse("run.threads_per_rank", fmt::format("{} threads a rank", options.threads_per_rank),
           "set it to 1: a rank computes on one core, and more cores take more ranks");
  const int head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  if (head_dim > kernels::kMaxHeadDim)
    refuse("model.head_dim",
           fmt::format("the attention kernel takes head dims up to {}, not {}", kernels::kMaxHeadDim, head_dim),
           "use more heads of fewer channels, or run.mode = \"simulate\"");
  for (Problem& problem : unknown_work(plan)) problems.push_back(std::move(problem));
  return problems;
}

ExecuteResult execute_threads(const Plan& plan, const Request& request, const Activations& activations,
                              const ExecuteOptions& options) {
  if (std::vector<Problem> problems = cannot_execute(plan, options); !problems.empty())
    throw Error(std::move(problems));
  require_fit(activations, request);
  const auto run = std::make_shared<ThreadRun>(plan, request, activations, options);
  ExecuteResult result;
  const int total = options.warmup + options.repeats;
  for (int done = 0; done < total; ++done) {
    Timeline timeline = run_once(run, activations, done - options.warmup);
    keep_highest(result.peak_bytes, run->store.peak_bytes());
    keep_highest(result.staging_peak_bytes, staging_bytes(*run));
    if (done >= options.warmup) {
      result.makespan_ns.push_back(timeline.makespan_ns());
      result.timelines.push_back(std::move(timeline));
    }
    if (options.on_run) options.on_run(done + 1, total);
  }
  result.traffic = run->communicator.traffic();
  result.outputs = run->program.outputs().gather(run->store);
  if (plan.ranks * options.threads_per_rank > usable_cores()) result.provenance.timing = Timing::kOversubscribed;
  return result;
}

}  // namespace spscope
