#include "backend/execute/lanes/lane_run.h"

#include "backend/base/clock.h"

namespace spscope {
namespace {

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
void run_lane(LaneRun& run, const ProgramLane& lane) {
  try {
    if (lane.lane == 0)
      run.device->set_beat(lane.rank, [control = run.control.get(), &lane] { control->beat(lane.rank, lane.lane); });
    for (OpId id : lane.ops) run_op(run, lane, id);
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    run.control->fail(lane.rank, lane.lane, error.what());
  }
}

}  // namespace

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

std::int64_t run_lanes(const std::shared_ptr<LaneRun>& run, int repeat, const std::function<void()>& meet) {
  std::vector<std::function<void()>> mains;
  for (const ProgramLane& lane : run->program.lanes()) mains.push_back([run, &lane] { run_lane(*run, lane); });
  return run_threads(run, std::move(mains), repeat, meet);
}

}  // namespace spscope
