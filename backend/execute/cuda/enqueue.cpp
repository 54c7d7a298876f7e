#include "backend/execute/cuda/enqueue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr unsigned char kPoison = 0xff;  // all bits set: NaN in bf16 and in fp32
constexpr auto kNap = std::chrono::microseconds(50);

class Enqueuer {
 public:
  explicit Enqueuer(CudaRun& run) : run_(run) {}

  void enqueue(const std::vector<OpId>& post);

 private:
  CudaOp& op(OpId id) { return run_.ops[at(id)]; }
  void begin(OpId id);
  void move(OpId id);
  void end(OpId id);
  void compute(OpId id);
  void copy(CudaOp& op);
  void record(const std::unique_ptr<Event>& event, const CudaOp& op) {
    check(driver().cuEventRecord(event->get(), run_.stream_of(op)), "cuEventRecord");
  }
  void reach(OpId id, OpStage stage);
  void wait(const CudaOp& waiting, OpId id, OpStage stage);
  // The op whose work is enqueued now; calls are made in its device's context.
  template <typename Work>
  void in_op(OpId id, const Work& work) {
    if (run_.control->stopping()) throw StopLane();
    run_.enqueued_op = id;
    const CurrentContext current(run_.rank_of(op(id).rank).gpu->context());
    work();
  }

  CudaRun& run_;
};

// The event or the word of a stage, on the op's stream.
void Enqueuer::reach(OpId id, OpStage stage) {
  CudaOp& of = op(id);
  record(stage == OpStage::kPosted ? of.posted : stage == OpStage::kTaken ? of.taken : of.ended, of);
  check(driver().cuStreamWriteValue32(run_.stream_of(of), run_.words.address(id, stage), run_.epoch,
                                      CU_STREAM_WRITE_VALUE_DEFAULT),
        "cuStreamWriteValue32");
}

void Enqueuer::wait(const CudaOp& waiting, OpId id, OpStage stage) {
  const CUstream stream = run_.stream_of(waiting);
  if (!run_.is_local(id)) {
    check(driver().cuStreamWaitValue32(stream, run_.words.address(id, stage), run_.epoch, CU_STREAM_WAIT_VALUE_GEQ),
          "cuStreamWaitValue32");
    return;
  }
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
  for (const OpId dependency : program.own_dependencies) wait(of, dependency, OpStage::kEnded);
  for (const OpId dependency : program.remote_dependencies) wait(of, dependency, OpStage::kEnded);
  if (run_.options.before_op) run_.options.before_op(id, run_.control->stopping());
  for (const SlotId slot : of.opens)
    if (run_.options.poison)
      check(driver().cuMemsetD8Async(run_.slots.address(slot), kPoison,
                                     static_cast<std::size_t>(run_.slots.layout().allocated_bytes(slot)),
                                     run_.stream_of(of)),
            "cuMemsetD8Async");
  reach(id, OpStage::kPosted);
}

void Enqueuer::copy(CudaOp& of) {
  for (const PartCopies& part : of.parts)
    for (const PeerCopy& copy : part.copies) {
      enqueue_copy(copy, run_.stream_of(of));
      run_.traffic->moved(part.src, part.dst, copy.num_bytes());
    }
}

void Enqueuer::move(OpId id) {
  CudaOp& of = op(id);
  const Transfer& transfer = *run_.program.op(id).transfer;
  for (const int partner : transfer.partners) wait(of, run_.partners.at(transfer.sequence, partner), OpStage::kPosted);
  record(of.moves, of);
  copy(of);
  if (!of.senders.empty()) reach(id, OpStage::kTaken);
}

void Enqueuer::end(OpId id) {
  CudaOp& of = op(id);
  for (const OpId taker : of.takers) wait(of, taker, OpStage::kTaken);
  reach(id, OpStage::kEnded);
}

void Enqueuer::compute(OpId id) {
  begin(id);
  CudaOp& of = op(id);
  run_.rank_of(of.rank).gpu->enqueue(of.work, run_.stream_of(of));
  reach(id, OpStage::kEnded);
}

void Enqueuer::enqueue(const std::vector<OpId>& post) {
  if (post.empty()) return;
  const PostKind kind = run_.program.plan().kind_of(run_.program.plan().ops[at(post.front())]);
  const auto for_each = [&](void (Enqueuer::*step)(OpId)) {
    for (const OpId id : post) in_op(id, [&] { (this->*step)(id); });
  };
  if (!communicates(kind)) return for_each(&Enqueuer::compute);
  for_each(&Enqueuer::begin);
  for_each(&Enqueuer::move);
  for_each(&Enqueuer::end);
}

// Whether a kernel or a copy has failed.
bool any_stream_failed(const CudaRun& run) {
  for (const GpuRank& rank : run.ranks) {
    if (!push_context(rank.gpu->context())) return true;
    const bool failed = std::ranges::any_of(rank.lanes, [](const auto& stream) {
      const CUresult result = stream == nullptr ? CUDA_SUCCESS : driver().cuStreamQuery(stream->get());
      return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    });
    pop_context();
    if (failed) return true;
  }
  return false;
}

// Whether all streams are idle. Throws Error when one has failed.
bool is_idle(const CudaRun& run) {
  for (const GpuRank& rank : run.ranks) {
    const CurrentContext current(rank.gpu->context());
    for (const auto& stream : rank.lanes) {
      if (stream == nullptr) continue;
      const CUresult result = driver().cuStreamQuery(stream->get());
      if (result == CUDA_ERROR_NOT_READY) return false;
      check(result, "a kernel or copy failed");
    }
  }
  return true;
}

// Of the ops that have posted and not ended, the one of the earliest post that waits for nobody.
OpId op_under_way(const CudaRun& run) {
  for (const std::vector<OpId>& post : run.posts)
    for (const OpId id : post) {
      if (!run.words.has(id, OpStage::kPosted, run.epoch) || run.words.has(id, OpStage::kEnded, run.epoch)) continue;
      const Transfer* const transfer = run.program.op(id).transfer.get();
      const auto has_posted = [&](int partner) {
        return run.words.has(run.partners.at(transfer->sequence, partner), OpStage::kPosted, run.epoch);
      };
      if (transfer == nullptr || std::ranges::all_of(transfer->partners, has_posted)) return id;
    }
  return kNone;
}

// Streams go on that wait for ops of other processes, which may never come there.
void let_pass(CudaRun& run) {
  for (OpId id = 0; id < static_cast<OpId>(run.ops.size()); ++id)
    if (!run.is_local(id)) run.words.let_pass(id, run.epoch);
}

}  // namespace

void fail_op(CudaRun& run, OpId at, const std::string& reason) {
  const OpId under_way = any_stream_failed(run) ? op_under_way(run) : kNone;
  const OpId named = under_way != kNone ? under_way : at;
  if (named != kNone) return run.control->fail(named, reason);
  const int rank = run.program.view().local.first;
  run.control->stop(
      {ErrorCode::kRankFailed, {rank, -1, kNone, false, fmt::format("rank {} failed: {}", rank, reason)}});
}

void enqueue_repeat(CudaRun& run) {
  try {
    Enqueuer enqueuer(run);
    for (const std::vector<OpId>& post : run.posts) enqueuer.enqueue(post);
    run.enqueued_op = kNone;
    while (!is_idle(run)) {
      run.control->leave_if_stopping();
      std::this_thread::sleep_for(kNap);
    }
    return;
  } catch (const StopLane&) {
    // The run stops for a reason that is already known.
  } catch (const std::exception& error) {
    fail_op(run, run.enqueued_op, error.what());
  }
  let_pass(run);
  try {
    while (!is_idle(run)) std::this_thread::sleep_for(kNap);
  } catch (const Error&) {
    // A device that has failed runs nothing any more.
  }
}

}  // namespace spscope::cuda
