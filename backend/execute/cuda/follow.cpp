#include "backend/execute/cuda/follow.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/ids.h"
#include "backend/execute/cuda/enqueue.h"

namespace spscope::cuda {
namespace {

// One lane, as if it had a thread: which op it is in, what it waits for.
class Follower {
 public:
  Follower(CudaRun& run, const ProgramLane& lane) : run_(run), lane_(lane) {}

  bool is_done() const { return next_ == lane_.ops.size(); }
  OpId op() const { return lane_.ops[next_]; }
  // Says what is new; false: nothing.
  bool look();

 private:
  bool has(OpId op, OpStage stage) const { return run_.words.has(op, stage, run_.epoch); }
  void say(LaneState state, OpId waits_for);
  void look_before_post();
  void look_after_post();
  void end();

  CudaRun& run_;
  const ProgramLane& lane_;
  std::size_t next_ = 0;
  bool entered_ = false;
  LaneState state_ = LaneState::kIdle;
  OpId waits_for_ = kNone;
};

void Follower::say(LaneState state, OpId waits_for) {
  RunControl& control = *run_.control;
  if (state == state_ && waits_for == waits_for_) return;
  if (waits_for_ != kNone) control.end_wait(lane_.rank, lane_.lane);
  if (state != state_) control.turn(lane_.rank, lane_.lane, state, now_ns());
  if (waits_for != kNone) control.begin_wait(lane_.rank, lane_.lane, waits_for);
  state_ = state;
  waits_for_ = waits_for;
}

// It waits for the first op that it depends on, or for the thread that enqueues, which is at an earlier op.
void Follower::look_before_post() {
  const ProgramOp& program = run_.program.op(op());
  const auto ends_first = [&](const std::vector<OpId>& dependencies) {
    const auto found =
        std::ranges::find_if(dependencies, [&](OpId dependency) { return !has(dependency, OpStage::kEnded); });
    return found == dependencies.end() ? kNone : *found;
  };
  OpId awaited = ends_first(program.own_dependencies);
  if (awaited == kNone) awaited = ends_first(program.remote_dependencies);
  const OpId enqueued = run_.rank_of(lane_.rank).queue->enqueued;
  const Plan& plan = run_.program.plan();
  if (awaited == kNone && enqueued != kNone && enqueued != op() &&
      plan.ops[at(enqueued)].post <= plan.ops[at(op())].post)
    awaited = enqueued;
  say(LaneState::kWaitingForOp, awaited);
}

void Follower::look_after_post() {
  const Transfer* const transfer = run_.program.op(op()).transfer.get();
  if (transfer == nullptr) return say(LaneState::kComputing, kNone);
  for (const int partner : transfer->partners)
    if (const OpId awaited = run_.partners.at(transfer->sequence, partner); !has(awaited, OpStage::kPosted))
      return say(LaneState::kWaitingForPeer, awaited);
  const CudaOp& of = run_.ops[at(op())];
  const bool has_data = of.senders.empty() || has(op(), OpStage::kTaken);
  const auto left = std::ranges::find_if(of.takers, [&](OpId taker) { return !has(taker, OpStage::kTaken); });
  // Until its own data was taken, as a lane with a thread says it.
  say(LaneState::kTransferring, has_data && left != of.takers.end() ? op() : kNone);
}

void Follower::end() {
  const CudaOp& of = run_.ops[at(op())];
  const Gpu& gpu = *run_.rank_of(of.rank).gpu;
  OpTimes& times = run_.times[at(op())];
  {
    const CurrentContext current(gpu.context());
    times.post_ns = gpu.host_ns(*of.posted);
    times.begin_ns = of.moves == nullptr ? times.post_ns : gpu.host_ns(*of.moves);
    times.end_ns = gpu.host_ns(*of.ended);
  }
  run_.control->leave_if_stopping();  // the recorder may be gone
  OpRecorder::EventCounts counts;
  if (run_.options.recorder != nullptr) counts = run_.options.recorder->ended(lane_.rank, lane_.lane, op(), times);
  run_.control->leave(lane_.rank, lane_.lane, counts, op() == lane_.ops.back());
  ++next_;
  entered_ = false;
  state_ = LaneState::kIdle;
  waits_for_ = kNone;
}

bool Follower::look() {
  const OpId before = op(), waited = waits_for_;
  const LaneState state = state_;
  if (!entered_) {
    run_.control->enter(lane_.rank, lane_.lane, op(), now_ns());
    entered_ = true;
    state_ = LaneState::kWaitingForOp;
  }
  if (has(op(), OpStage::kEnded))
    end();
  else if (run_.has_posted(op()))
    look_after_post();
  else
    look_before_post();
  return is_done() || op() != before || waits_for_ != waited || state_ != state;
}

}  // namespace

void follow_repeat(CudaRun& run) {
  std::vector<Follower> lanes;
  for (const ProgramLane& lane : run.program.lanes()) lanes.emplace_back(run, lane);
  OpId op = kNone;
  try {
    for (bool any = true; any;) {
      run.control->leave_if_stopping();
      any = false;
      bool moved = false;
      for (Follower& lane : lanes) {
        if (lane.is_done()) continue;
        any = true;
        op = lane.op();
        moved = lane.look() || moved;
      }
      if (any && !moved) std::this_thread::sleep_for(kStreamPollNap);
    }
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    fail_op(run, op, error.what());
  }
}

std::vector<std::optional<bool>> computes_unknown(std::span<const int> ranks) {
  return std::vector<std::optional<bool>>(ranks.size());
}

std::int64_t run_repeat(const std::shared_ptr<CudaRun>& run, int repeat, const std::function<void()>& meet) {
  std::vector<std::function<void()>> mains;
  for (const auto& queue : run->queues)
    mains.emplace_back([run, &queue, repeat] { enqueue_repeat(*run, *queue, repeat); });
  mains.emplace_back([run] { follow_repeat(*run); });
  return run_threads(run, std::move(mains), repeat, meet);
}

}  // namespace spscope::cuda
