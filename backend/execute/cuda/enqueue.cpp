#include "backend/execute/cuda/enqueue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/ids.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/stream_words.h"

namespace spscope::cuda {
namespace {

// What is enqueued meanwhile is for an op, as the recorder is told.
class LaunchOf {
 public:
  LaunchOf(const CudaRun& run, const CudaOp& op, OpId id) : run_(run) {
    if (run.options.recorder != nullptr) run.options.recorder->launching(op.rank, op.lane, id);
  }
  // A run that is stopping does not wait for a call that hangs: the recorder may be gone.
  ~LaunchOf() {
    if (run_.options.recorder != nullptr && !run_.control->stopping()) run_.options.recorder->launched();
  }
  LaunchOf(const LaunchOf&) = delete;
  LaunchOf& operator=(const LaunchOf&) = delete;

 private:
  const CudaRun& run_;
};

class Enqueuer {
 public:
  Enqueuer(CudaRun& run, DeviceQueue& queue) : run_(run), queue_(queue) {}

  // Those ops of the post that are on the device.
  void enqueue(const std::vector<OpId>& post);

 private:
  CudaOp& op(OpId id) { return run_.ops[at(id)]; }
  void begin(OpId id);
  void move(OpId id);
  void end(OpId id);
  void compute(OpId id);
  void copy(OpId id);
  void reach(OpId id, OpStage stage);
  void wait(OpId waiting, OpId id, OpStage stage);
  // After what was gathered of waits and words of the op.
  CUstream stream_of(const CudaOp& op) {
    words_.enqueue(run_.stream_of(op));
    return run_.stream_of(op);
  }
  void record(const std::unique_ptr<Event>& event, const CudaOp& op) {
    check(driver().cuEventRecord(event->get(), stream_of(op)), "cuEventRecord");
  }

  CudaRun& run_;
  DeviceQueue& queue_;
  StreamWords words_;  // of the op that is enqueued now
};

// The event and the word of a stage, on the op's stream. The word of a post comes first, so that the time until it is
// seen by the host is not taken for time of the op; that of an end comes last: who sees it may read the event. Nobody
// waits for the post of a compute op.
void Enqueuer::reach(OpId id, OpStage stage) {
  CudaOp& of = op(id);
  if (stage == OpStage::kTaken && of.taken != nullptr) record(of.taken, of);
  if (stage == OpStage::kEnded) record(of.ended, of);
  if (stage != OpStage::kPosted || run_.program.op(id).transfer != nullptr)
    words_.write(run_.words.address(id, stage), run_.epoch);
  if (stage == OpStage::kPosted) record(of.posted, of);
}

void Enqueuer::wait(OpId waiting, OpId id, OpStage stage) {
  if (!run_.is_beside(waiting, id)) return words_.wait(run_.words.address(id, stage), run_.epoch);
  const CUstream stream = run_.stream_of(op(waiting));
  const CudaOp& awaited = op(id);
  if (run_.stream_of(awaited) == stream) return;  // in order
  const auto& event = stage == OpStage::kPosted  ? awaited.posted
                      : stage == OpStage::kTaken ? awaited.taken
                                                 : awaited.ended;
  check(driver().cuStreamWaitEvent(stream, event->get(), CU_EVENT_WAIT_DEFAULT), "cuStreamWaitEvent");
}

void Enqueuer::begin(OpId id) {
  CudaOp& of = op(id);
  const ProgramOp& program = run_.program.op(id);
  for (const OpId dependency : program.own_dependencies) wait(id, dependency, OpStage::kEnded);
  for (const OpId dependency : program.remote_dependencies) wait(id, dependency, OpStage::kEnded);
  if (run_.options.before_op) run_.options.before_op(id, run_.control->stopping());
  for (const SlotId slot : of.opens)
    if (run_.options.poison)
      check(
          driver().cuMemsetD8Async(run_.slots.address(slot), kPoison,
                                   static_cast<std::size_t>(run_.slots.layout().allocated_bytes(slot)), stream_of(of)),
          "cuMemsetD8Async");
  reach(id, OpStage::kPosted);
}

void Enqueuer::copy(OpId id) {
  CudaOp& of = op(id);
  const LaunchOf launch(run_, of, id);
  for (const PartCopies& part : of.parts)
    for (const PeerCopy& copy : part.copies) {
      enqueue_copy(copy, stream_of(of));
      run_.traffic->moved(part.src, part.dst, copy.num_bytes());
    }
}

void Enqueuer::move(OpId id) {
  CudaOp& of = op(id);
  const Transfer& transfer = *run_.program.op(id).transfer;
  for (const int partner : transfer.partners) wait(id, run_.partners.at(transfer.sequence, partner), OpStage::kPosted);
  record(of.moves, of);
  copy(id);
  if (!of.senders.empty()) reach(id, OpStage::kTaken);
}

void Enqueuer::end(OpId id) {
  CudaOp& of = op(id);
  for (const OpId taker : of.takers) wait(id, taker, OpStage::kTaken);
  reach(id, OpStage::kEnded);
}

void Enqueuer::compute(OpId id) {
  begin(id);
  CudaOp& of = op(id);
  {
    const LaunchOf launch(run_, of, id);
    queue_.gpu->enqueue(of.work, stream_of(of));
  }
  reach(id, OpStage::kEnded);
}

void Enqueuer::enqueue(const std::vector<OpId>& post) {
  if (post.empty()) return;
  const PostKind kind = run_.program.plan().kind_of(run_.program.plan().ops[at(post.front())]);
  const auto for_each = [&](void (Enqueuer::*step)(OpId)) {
    for (const OpId id : post) {
      if (run_.rank_of(op(id).rank).queue != &queue_) continue;
      if (run_.control->stopping()) throw StopLane();
      queue_.enqueued = id;
      (this->*step)(id);
      words_.enqueue(run_.stream_of(op(id)));
    }
  };
  if (!communicates(kind)) return for_each(&Enqueuer::compute);
  for_each(&Enqueuer::begin);
  for_each(&Enqueuer::move);
  for_each(&Enqueuer::end);
}

// CUDA_SUCCESS when the streams of a rank are idle, CUDA_ERROR_NOT_READY when they are at work, else what has failed.
CUresult state_of(const GpuRank& rank) {
  CUresult state = driver().cuCtxPushCurrent(rank.gpu->context().get());
  if (state != CUDA_SUCCESS) return state;
  for (const auto& stream : rank.lanes) {
    const CUresult of_stream = stream == nullptr ? CUDA_SUCCESS : driver().cuStreamQuery(stream->get());
    if (of_stream != CUDA_SUCCESS) state = of_stream;
    if (of_stream != CUDA_SUCCESS && of_stream != CUDA_ERROR_NOT_READY) break;
  }
  pop_context();
  return state;
}

bool is_at_work(const GpuRank& rank) { return state_of(rank) == CUDA_ERROR_NOT_READY; }

// Whether all work of the repeat on the device has ended. Throws Error when some has failed.
bool has_ended(const CudaRun& run, const DeviceQueue& queue) {
  bool ended = true;
  for (const GpuRank& rank : run.ranks) {
    if (rank.queue != &queue) continue;
    const CUresult state = state_of(rank);
    if (state != CUDA_ERROR_NOT_READY) check(state, "a kernel or a copy failed");
    ended = ended && state == CUDA_SUCCESS;
  }
  return ended;
}

// Of the ops of ranks whose device has failed that have posted and not ended, the one of the earliest post that waits
// for nobody: a kernel rather than a copy beside it. kNone: there is none, as when no device has failed.
OpId failed_op(CudaRun& run) {
  std::vector<bool> failed;
  for (const GpuRank& rank : run.ranks) failed.push_back(state_of(rank) != CUDA_SUCCESS && !is_at_work(rank));
  OpId copies = kNone;
  for (const std::vector<OpId>& post : run.posts)
    for (const OpId id : post) {
      if (!failed[at(run.ops[at(id)].rank - run.program.view().local.first)]) continue;
      if (!run.has_posted(id) || run.words.has(id, OpStage::kEnded, run.epoch)) continue;
      const Transfer* const transfer = run.program.op(id).transfer.get();
      if (transfer == nullptr) return id;
      const auto has_posted = [&](int partner) {
        return run.words.has(run.partners.at(transfer->sequence, partner), OpStage::kPosted, run.epoch);
      };
      if (copies == kNone && std::ranges::all_of(transfer->partners, has_posted)) copies = id;
    }
  return copies;
}

// Streams go on that wait for ops of other devices and processes, which may never come there.
void let_pass(CudaRun& run) {
  for (OpId id = 0; id < static_cast<OpId>(run.ops.size()); ++id) run.words.let_pass(id, run.epoch);
}

}  // namespace

void fail_op(CudaRun& run, OpId at, const std::string& reason) {
  const OpId failed = failed_op(run);
  const OpId named = failed != kNone ? failed : at;
  if (named != kNone) return run.control->fail(named, reason);
  const int rank = run.program.view().local.first;
  run.control->stop(
      {ErrorCode::kRankFailed, {rank, -1, kNone, false, fmt::format("rank {} failed: {}", rank, reason)}});
}

void enqueue_repeat(CudaRun& run, DeviceQueue& queue, int repeat) {
  try {
    const CurrentContext current(queue.gpu->context());
    const std::int64_t begin_ns = now_ns();
    Enqueuer enqueuer(run, queue);
    for (const std::vector<OpId>& post : run.posts) enqueuer.enqueue(post);
    queue.enqueued = kNone;
    if (repeat >= 0) queue.enqueue_ns += now_ns() - begin_ns;
    while (!has_ended(run, queue)) {
      run.control->leave_if_stopping();
      std::this_thread::sleep_for(kStreamPollNap);
    }
    return;
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    fail_op(run, queue.enqueued, error.what());
  }
  let_pass(run);
  // What a device that has failed was to do is over.
  const auto is_busy = [&](const GpuRank& rank) { return rank.queue == &queue && is_at_work(rank); };
  while (std::ranges::any_of(run.ranks, is_busy)) std::this_thread::sleep_for(kStreamPollNap);
}

}  // namespace spscope::cuda
