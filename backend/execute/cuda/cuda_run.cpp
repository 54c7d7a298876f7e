#include "backend/execute/cuda/cuda_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cuda/driver.h"
#include "backend/plan/plan_access.h"

namespace spscope::cuda {
namespace {

template <typename Step>
void for_rank(int rank, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("rank {}: {}", rank, error.what()), error.hint());
  }
}

std::vector<SlotId> output_slots(const Plan& plan, const MemoryLayout& layout, int rank) {
  std::vector<SlotId> slots;
  for (const Output& output : plan.outputs)
    for_each_base(plan, output.value, [&](ValueId base) {
      const SlotId slot = layout.value_slot(base, rank);
      if (slot != kNone && std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
    });
  return slots;
}

// Cells of the source of a message, where its rank has them.
std::span<const CellRun> source_cells(const CudaRun& run, const Transfer& transfer, const TransferPart& part) {
  if (!part.from.empty()) return part.from;
  const Transfer& source = *run.program.op(run.partners.at(transfer.sequence, part.src)).transfer;
  const auto found = std::ranges::lower_bound(source.parts, part.message, {}, &TransferPart::message);
  SPSCOPE_CHECK(found != source.parts.end() && found->message == part.message);
  return found->from;
}

}  // namespace

CudaRun::CudaRun(const Plan& plan, const Request& request, const ExecuteOptions& chosen, const RankView& view)
    : RankRun(plan, chosen, view),
      slots(program.plan(), program.layout()),
      partners(program.plan()),
      plans(plan.ops.size()),
      ops(plan.ops.size()),
      posts(plan.posts.size()) {
  CellFinder finder(program.plan(), program.layout());
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    if (!view.has(op.rank)) continue;
    posts[at(op.post)].push_back(id);
    ops[at(id)].rank = op.rank;
    ops[at(id)].lane = plan.post_of(op).lane;
    if (!communicates(plan.kind_of(op))) plans[at(id)] = plan_op(program.plan(), request, finder, slots, id);
  }
  for (const ProgramLane& lane : program.lanes())
    for (std::size_t i = 1; i < lane.ops.size(); ++i) ops[at(lane.ops[i])].previous = lane.ops[i - 1];
  for (SlotId slot = 0; slot < static_cast<SlotId>(slots.places().opener.size()); ++slot)
    if (const OpId opener = slots.places().opener[at(slot)]; opener != kNone && slots.places().offset[at(slot)] >= 0)
      if (view.has(program.layout().slot(slot).rank)) ops[at(opener)].opens.push_back(slot);
}

DeviceQueue& CudaRun::queue_of(int device) {
  const auto found = std::ranges::find_if(queues, [&](const auto& q) { return q->gpu->context().device() == device; });
  if (found != queues.end()) return **found;
  queues.push_back(std::make_unique<DeviceQueue>());
  queues.back()->gpu = &Gpu::of(device);
  return *queues.back();
}

void CudaRun::take_devices(const std::function<int(int)>& device_of) {
  const LocalRanks local = program.view().local;
  for (int rank = local.first; rank < local.first + local.count; ++rank)
    for_rank(rank, [&] {
      DeviceQueue& queue = queue_of(device_of(rank));
      GpuRank& made = ranks.emplace_back();
      made.rank = rank;
      made.queue = &queue;
      made.gpu = queue.gpu;
      made.lanes.resize(at(program.plan().lanes));
    });
  // A kernel that packs or merges does not wait until the attention beside it has no block left to start.
  for (const ProgramLane& lane : program.lanes())
    rank_of(lane.rank).lanes[at(lane.lane)] = std::make_unique<Stream>(
        rank_of(lane.rank).gpu->context(), lane.lane == 0 ? StreamPriority::kLeast : StreamPriority::kGreatest);
  for (const auto& queue : queues)
    for (const auto& other : queues) {
      const CudaContext &context = queue->gpu->context(), &reached = other->gpu->context();
      if (queue != other && !enable_peer_access(context, reached))
        throw Error(ErrorCode::kNoDevice,
                    fmt::format("GPU {} cannot reach the memory of GPU {}", context.device(), reached.device()),
                    "set CUDA_VISIBLE_DEVICES to GPUs that reach each other, or to one of them: ranks may share it");
    }
  for (GpuRank& made : ranks)
    for_rank(made.rank, [&] {
      const auto num_bytes = static_cast<std::size_t>(slots.arena_bytes(made.rank));
      try {
        made.arena = std::make_unique<DeviceMemory>(made.gpu->context(), num_bytes);
      } catch (const Error& error) {
        const OpId fullest = slots.places().fullest[at(made.rank)];
        throw Error(error.code(),
                    fmt::format("{} (most of its memory is in use in {})", error.what(),
                                fullest == kNone ? "its inputs" : describe_op(program.plan(), fullest)),
                    error.hint());
      }
      slots.set_arena(made.rank, made.arena->address());
    });
}

void CudaRun::make_words() {
  own_words = std::make_unique<HostMemory>(ranks.front().gpu->context(), ops.size() * sizeof(OpWord));
  auto* const first = reinterpret_cast<OpWord*>(own_words->bytes().data());
  words = OpWords({first, ops.size()}, own_words->address());
}

void CudaRun::open_arena(int rank, const CUipcMemHandle& handle) {
  opened.push_back(std::make_unique<IpcMemory>(ranks.front().gpu->context(), handle));
  slots.set_arena(rank, opened.back()->address());
}

void CudaRun::make_copies(OpId id, CudaOp& made) {
  const Transfer& transfer = *program.op(id).transfer;
  const bool exchanges = transfer.kind == PostKind::kExchange;
  for (const TransferPart& part : transfer.parts) {
    const auto note = [&](std::vector<OpId>& list, int rank) {
      const OpId op = partners.at(transfer.sequence, rank);
      if (std::ranges::find(list, op) == list.end()) list.push_back(op);
    };
    if (exchanges && part.src != part.dst)
      part.dst == made.rank ? note(made.senders, part.src) : note(made.takers, part.dst);
    if (exchanges && part.dst != made.rank) continue;
    made.parts.push_back({part.src, part.dst, peer_copies(slots, source_cells(*this, transfer, part), part.to)});
  }
}

void CudaRun::make_op(OpId id, LaunchTable& table) {
  CudaOp& made = ops[at(id)];
  Gpu& gpu = *rank_of(made.rank).gpu;
  const CudaContext& context = gpu.context();
  if (program.op(id).transfer != nullptr) {
    make_copies(id, made);
    made.moves = std::make_unique<Event>(context, EventTiming::kTimed);
    if (std::ranges::any_of(made.senders, [&](OpId sender) { return is_beside(id, sender); }))
      made.taken = std::make_unique<Event>(context, EventTiming::kNone);
  } else {
    made.work = make_work(program.plan(), plans[at(id)], slots, gpu.facts(), table);
    for (const Launch& launch : made.work.launches) gpu.load(launch.kernel);
  }
  made.posted = std::make_unique<Event>(context, EventTiming::kTimed);
  made.ended = std::make_unique<Event>(context, EventTiming::kTimed);
}

// All ops of a rank, and their table on its device.
void CudaRun::make_table(GpuRank& rank) {
  LaunchTable table;
  for (const std::vector<OpId>& post : posts)
    for (const OpId id : post)
      if (ops[at(id)].rank == rank.rank) make_op(id, table);
  rank.table = std::make_unique<DeviceMemory>(rank.gpu->context(), table.bytes().size());
  rank.table->write(table.bytes());
  for (CudaOp& op : ops)
    if (op.rank == rank.rank)
      for (Launch& launch : op.work.launches) LaunchTable::move_to(rank.table->address(), launch);
}

void CudaRun::make_ops(const Activations& activations, const std::function<int(int)>& node_of) {
  const Plan& plan = program.plan();
  for (GpuRank& rank : ranks)
    for_rank(rank.rank, [&] {
      make_table(rank);
      std::vector<SlotId> given;
      for (const SlotId slot : program.given())
        if (program.layout().slot(slot).rank == rank.rank) given.push_back(slot);
      rank.inputs = std::make_unique<HostMirror>(rank.gpu->context(), program.layout(), std::move(given));
      for (const SlotId slot : rank.inputs->slots()) fill_slot(*rank.inputs, plan, activations, slot);
      rank.outputs = std::make_unique<HostMirror>(rank.gpu->context(), program.layout(),
                                                  output_slots(plan, program.layout(), rank.rank));
    });
  plans.clear();
  traffic = std::make_unique<TrafficCounter>(plan.ranks, node_of);
}

void CudaRun::start_repeat() {
  ++epoch;
  traffic->reset();
  for (const auto& queue : queues) queue->enqueued = first_op(*queue);
  for (GpuRank& rank : ranks)
    for_rank(rank.rank, [&] {
      const auto used = std::ranges::find_if(rank.lanes, [](const auto& stream) { return stream != nullptr; });
      if (used == rank.lanes.end()) return;
      const CurrentContext current(rank.gpu->context());
      if (options.poison && rank.arena->num_bytes() > 0)
        check(driver().cuMemsetD8Async(rank.arena->address(), kPoison, rank.arena->num_bytes(), (*used)->get()),
              "cuMemsetD8Async");
      rank.inputs->upload(slots, (*used)->get());
      check(driver().cuStreamSynchronize((*used)->get()), "cuStreamSynchronize");
    });
  for (const auto& queue : queues) queue->gpu->start_clock();
}

OpId CudaRun::first_op(const DeviceQueue& queue) {
  for (const std::vector<OpId>& post : posts)
    for (const OpId id : post)
      if (rank_of(ops[at(id)].rank).queue == &queue) return id;
  return kNone;
}

// Ops of a post are enqueued in the order of their ids.
bool CudaRun::is_enqueued(OpId id) {
  const OpId now = rank_of(ops[at(id)].rank).queue->enqueued;
  const std::vector<Op>& all = program.plan().ops;
  return now == kNone || std::pair(all[at(now)].post, now) > std::pair(all[at(id)].post, id);
}

// A compute op has no word for its post: no other stream waits for it.
bool CudaRun::has_posted(OpId id) {
  const ProgramOp& op = program.op(id);
  if (op.transfer != nullptr) return words.has(id, OpStage::kPosted, epoch);
  const auto has_ended = [&](OpId other) { return words.has(other, OpStage::kEnded, epoch); };
  const OpId previous = ops[at(id)].previous;
  return is_enqueued(id) && (previous == kNone || has_ended(previous)) &&
         std::ranges::all_of(op.own_dependencies, has_ended) && std::ranges::all_of(op.remote_dependencies, has_ended);
}

std::vector<float> CudaRun::read_outputs(int rank) {
  GpuRank& of = rank_of(rank);
  const auto used = std::ranges::find_if(of.lanes, [](const auto& stream) { return stream != nullptr; });
  if (used == of.lanes.end()) return {};
  const CurrentContext current(of.gpu->context());
  of.outputs->download(slots, (*used)->get());
  check(driver().cuStreamSynchronize((*used)->get()), "cuStreamSynchronize");
  return spscope::read_outputs(*of.outputs, program.outputs(), rank);
}

std::vector<std::int64_t> CudaRun::peak_bytes() const {
  std::vector<std::int64_t> bytes(at(program.plan().ranks));
  for (const GpuRank& rank : ranks) bytes[at(rank.rank)] = slots.places().live_bytes_of_rank[at(rank.rank)];
  return bytes;
}

std::vector<std::int64_t> CudaRun::host_post_ns() const {
  const Plan& plan = program.plan();
  const auto posts = std::max<std::int64_t>(1, std::ssize(plan.posts) * options.repeats);
  std::vector<std::int64_t> ns(at(plan.ranks));
  for (const GpuRank& rank : ranks) ns[at(rank.rank)] = rank.queue->enqueue_ns / posts;
  return ns;
}

std::vector<std::int64_t> CudaRun::staging_peak_bytes() const {
  std::vector<std::int64_t> bytes = peak_bytes();
  for (const GpuRank& rank : ranks) {
    const auto held = static_cast<std::int64_t>(rank.arena->num_bytes() + rank.table->num_bytes());
    bytes[at(rank.rank)] = held - bytes[at(rank.rank)];
  }
  return bytes;
}

}  // namespace spscope::cuda
