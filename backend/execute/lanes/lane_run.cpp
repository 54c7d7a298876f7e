#include "backend/execute/lanes/lane_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "backend/base/clock.h"
#include "backend/record/computing.h"

namespace spscope {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);  // how late an interrupt may be seen; costs nothing measurable
constexpr std::int64_t kLookEveryNs = 10'000'000;
constexpr std::int64_t kStoppedNs = 1'000'000'000;  // without a poll: longer than a busy machine makes one wait

StopReason interruption() { return {ErrorCode::kInterrupted, {-1, -1, kNone, false, "the run was interrupted"}}; }

void run_op(LaneRun& run, const ProgramLane& lane, OpId id) {
  const ProgramOp& op = run.program.op(id);
  RunControl& control = *run.control;
  OpTimes& times = run.times[static_cast<std::size_t>(id)];
  OpRecorder* const recorder = run.options.recorder;
  control.enter(lane.rank, lane.lane, id, recorder != nullptr ? now_ns() : 0);
  for (OpId dependency : op.own_dependencies) control.wait_ended(lane.rank, lane.lane, dependency);
  if (run.options.before_op) run.options.before_op(id, control.stopping());
  times.post_ns = now_ns();
  for (OpId dependency : op.remote_dependencies) control.wait_ended(lane.rank, lane.lane, dependency);
  if (op.transfer == nullptr) {
    times.post_ns = times.begin_ns = now_ns();
    control.turn(lane.rank, lane.lane, LaneState::kComputing, times.begin_ns);
    run.device->compute(lane.rank, id);
    times.end_ns = now_ns();
  } else {
    for (SlotId slot : op.opens) run.device->open(slot);
    control.turn(lane.rank, lane.lane, LaneState::kWaitingForPeer, times.post_ns);
    run.communicator->run(*op.transfer, times);
  }
  // A lane that was left behind and comes back after the grace period must not touch a recorder that may be gone.
  if (!control.stopping()) {
    OpRecorder::EventCounts counts;
    if (recorder != nullptr) counts = recorder->ended(lane.rank, lane.lane, id, times);
    control.leave(lane.rank, lane.lane, counts, id == lane.ops.back());
  }
  // Before the end is made known: what depends on this op may count on its memory.
  for (SlotId slot : op.uses) run.device->release(slot);
  control.set_ended(id);
  run.communicator->ended(id);
}

// The main of a lane; with that of the command line, the place where errors of ranks are caught.
void run_lane(const std::shared_ptr<LaneRun>& run, const ProgramLane& lane) {
  try {
    run->may_start.wait(false);
    if (lane.lane == 0)
      run->device->set_beat(lane.rank, [control = run->control.get(), &lane] { control->beat(lane.rank, lane.lane); });
    for (OpId id : lane.ops) run_op(*run, lane, id);
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    run->control->fail(lane.rank, lane.lane, error.what());
  }
  const std::lock_guard lock(run->mutex);
  ++run->lanes_left;
  run->lane_left.notify_all();
}

double seconds_since(std::int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

SystemView system_of(const LaneRun& run) {
  SystemView system = run.system;
  if (!system.computes)  // all ranks are threads of this process
    system.computes = [&run](std::span<const int> ranks) {
      const int pid = ::getpid();
      return std::vector(ranks.size(), which_compute({&pid, 1}, run.options.watchdog_seconds).front());
    };
  return system;
}

// Returns whether all lanes have left; false: some did not within the grace period. A hang or an interrupt stops the
// run.
bool watch(LaneRun& run, std::size_t num_lanes) {
  ProgressWatch progress(run, run.options.watchdog_seconds);
  std::unique_lock lock(run.mutex);
  for (;;) {
    if (run.lane_left.wait_for(lock, kPoll, [&] { return run.lanes_left == num_lanes; })) return true;
    if (!run.control->stopping() && interrupted(run.options)) run.control->stop(interruption());
    if (progress.look()) return false;
  }
}

// A thread for each lane, waiting for may_start. Throws Error(kRankFailed) when the machine has no more threads to
// give.
std::vector<std::thread> make_lanes(const std::shared_ptr<LaneRun>& run) {
  run->may_start = false;
  run->lanes_left = 0;
  std::vector<std::thread> threads;
  try {
    for (const ProgramLane& lane : run->program.lanes()) threads.emplace_back([run, &lane] { run_lane(run, lane); });
  } catch (const std::system_error& error) {  // those that started must not be left waiting
    const Error reason(ErrorCode::kRankFailed,
                       fmt::format("thread {} of {} cannot be started: {}", threads.size() + 1,
                                   run->program.lanes().size(), error.what()),
                       "use fewer ranks, or mode = \"project\", which runs one rank at a time");
    run->control->stop({reason.code(), {-1, -1, kNone, false, reason.what()}});
    run->may_start = true;
    run->may_start.notify_all();
    for (std::thread& thread : threads) thread.join();
    throw reason;
  }
  return threads;
}

}  // namespace

// Nobody has made progress for long.
void ProgressWatch::judge() {
  const SystemView system = system_of(run_);
  const std::vector<StuckLane> stuck = run_.control->find_stuck(system);
  if (stuck.empty() || run_.control->progress() != progress_) return;  // it may have taken seconds to find out
  if (stuck.front().trouble == RankTrouble::kSlow)
    progress_ns_ = looked_ns_;  // it may take as long again
  else
    run_.control->stop({ErrorCode::kRankHung, run_.control->describe_hang(stuck, seconds_since(progress_ns_), system)});
}

bool ProgressWatch::look() {
  RunControl& control = *run_.control;
  const std::int64_t gap_ns = looked_ns_ == 0 ? 0 : now_ns() - looked_ns_;
  if (looked_ns_ != 0 && gap_ns < kLookEveryNs) return false;
  looked_ns_ = now_ns();
  if (const std::int64_t now = control.progress(); now != progress_) progress_ = now, progress_ns_ = looked_ns_;
  // Time in which this process was stopped itself says nothing about others.
  if (gap_ns > kStoppedNs) progress_ns_ += gap_ns;
  if (!control.stopping() && seconds_since(progress_ns_) > patience_seconds_) judge();
  if (!control.stopping() && control.reason()) control.stop();  // another process
  if (!control.stopping()) return false;
  if (stopped_ns_ == 0) stopped_ns_ = now_ns();
  return seconds_since(stopped_ns_) > run_.options.grace_seconds;
}

bool interrupted(const ExecuteOptions& options) { return options.interrupt != nullptr && options.interrupt->load(); }

std::vector<std::int64_t> LaneRun::staging_peak_bytes() const {
  std::vector<std::int64_t> bytes = communicator->staging_peak_bytes();
  const std::vector<std::int64_t> of_kernels = device->staging_peak_bytes();
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) bytes[rank] += of_kernels[rank];
  return bytes;
}

void fill_inputs(LaneRun& run, const Activations& activations) {
  run.device->start(run.program.users());
  for (SlotId slot : run.program.given()) run.device->fill(slot, activations);
}

std::vector<OutputTensor> gather_outputs(const LaneRun& run) {
  std::vector<std::vector<float>> held;
  for (int rank = 0; rank < run.program.plan().ranks; ++rank) held.push_back(run.device->read_outputs(rank));
  return run.program.outputs().gather(held);
}

Timeline timeline_since(std::int64_t start_ns, std::vector<OpTimes> raw_times) {
  for (OpTimes& t : raw_times) t.post_ns -= start_ns, t.begin_ns -= start_ns, t.end_ns -= start_ns;
  return {std::move(raw_times)};
}

std::int64_t run_lanes(const std::shared_ptr<LaneRun>& run, int repeat, const std::function<void()>& meet) {
  OpRecorder* const recorder = run->options.recorder;
  std::vector<std::thread> threads = make_lanes(run);
  if (meet) meet();
  if (interrupted(run->options)) run->control->stop(interruption());
  if (recorder != nullptr) recorder->begin_repeat(repeat);
  run->control->begin_repeat(recorder != nullptr ? recorder->run() : RunId{}, repeat);
  const std::int64_t start_ns = now_ns();
  run->may_start = true;
  run->may_start.notify_all();
  const bool all_left = run->all_left = watch(*run, threads.size());
  for (std::thread& thread : threads) all_left ? thread.join() : thread.detach();
  const std::optional<StopReason> reason = run->control->await_reason(run->options.grace_seconds);
  if (recorder != nullptr) {
    if (reason && reason->code != ErrorCode::kInterrupted) recorder->fault(reason->fault);
    recorder->end_repeat();
  }
  if (reason) throw reason->error();
  return start_ns;
}

}  // namespace spscope
