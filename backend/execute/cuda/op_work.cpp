#include "backend/execute/cuda/op_work.h"

#include <algorithm>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/execute/cuda/attend_pieces.h"
#include "backend/plan/plan_access.h"

namespace spscope::cuda {
namespace {

namespace kc = kernels::cuda;

template <typename T>
T* pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

int head_dim_of(const Plan& plan) { return plan.tensor_width[static_cast<int>(Tensor::kQ)]; }

// Unfinished rows from a cell on, `stride` cells apart.
kc::UnfinishedRows unfinished_rows(const DeviceSlots& slots, BufferId buffer, int entry, std::int64_t cell,
                                   std::int64_t stride, int head_dim) {
  return {pointer<float>(slots.address(buffer, 0, entry, cell)), pointer<float>(slots.address(buffer, 1, entry, cell)),
          pointer<float>(slots.address(buffer, 2, entry, cell)), stride * head_dim, stride};
}

// visit(from buffer, from cell, to buffer, to cell, rows, entry) for at most kRowsOfPiece rows at a time.
template <typename Visit>
void for_each_piece(const DeviceSlots& slots, const OpPlan& op, Visit&& visit) {
  const auto stride = [&](BufferId id) { return slots.layout().buffer(id).stride(op.walk); };
  for (const CellPair& pair : op.pairs)
    zip_runs(pair.from, pair.to, stride, stride,
             [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
               for (int entry = 0; entry < slots.layout().buffer(a).batch; ++entry)
                 for (std::int64_t first = 0; first < n; first += kc::kRowsOfPiece)
                   visit(a, a_cell + first * stride(a), b, b_cell + first * stride(b),
                         static_cast<std::int32_t>(std::min<std::int64_t>(kc::kRowsOfPiece, n - first)), entry);
             });
}

Launch make_clear(const DeviceSlots& slots, SlotId slot_id, int head_dim, LaunchTable& table) {
  std::vector<kc::ClearPiece> pieces;
  const BufferSlot& slot = slots.layout().slot(slot_id);
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b)
    for (int entry = 0; entry < slots.layout().buffer(b).batch; ++entry)
      for (std::int64_t cell = 0, end = slots.layout().buffer(b).num_cells; cell < end; cell += kc::kRowsOfPiece)
        pieces.push_back({unfinished_rows(slots, b, entry, cell, 1, head_dim),
                          static_cast<std::int32_t>(std::min<std::int64_t>(kc::kRowsOfPiece, end - cell)), 0});
  const auto count = static_cast<std::int32_t>(pieces.size());
  return {kc::choose_clear(), static_cast<unsigned>(count), kc::Clear{table.add(pieces), count, head_dim}};
}

Launch make_merge(const OpPlan& op, const DeviceSlots& slots, int head_dim, LaunchTable& table) {
  std::vector<kc::MergePiece> pieces;
  const auto stride = [&](BufferId id) { return slots.layout().buffer(id).stride(op.walk); };
  for_each_piece(slots, op,
                 [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int32_t rows, int entry) {
                   pieces.push_back({unfinished_rows(slots, a, entry, a_cell, stride(a), head_dim),
                                     unfinished_rows(slots, b, entry, b_cell, stride(b), head_dim), rows, 0});
                 });
  const auto count = static_cast<std::int32_t>(pieces.size());
  return {kc::choose_merge(), static_cast<unsigned>(count), kc::Merge{table.add(pieces), count, head_dim}};
}

Launch make_finish(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, int head_dim, LaunchTable& table) {
  std::vector<kc::FinishPiece> pieces;
  const auto stride = [&](BufferId id) { return slots.layout().buffer(id).stride(op.walk); };
  for_each_piece(slots, op,
                 [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int32_t rows, int entry) {
                   pieces.push_back({unfinished_rows(slots, a, entry, a_cell, stride(a), head_dim),
                                     pointer<void>(slots.address(b, 0, entry, b_cell)), stride(b) * head_dim, rows, 0});
                 });
  const auto count = static_cast<std::int32_t>(pieces.size());
  return {kc::choose_finish(plan.dtype), static_cast<unsigned>(count), kc::Finish{table.add(pieces), count, head_dim}};
}

// Cells of one run; those that lie next to each other on both sides are bytes.
void add_copies(const DeviceSlots& slots, const CellRun& from, const CellRun& to, std::int64_t from_stride,
                std::int64_t to_stride, std::vector<kc::CopyPiece>& pieces) {
  const BufferLayout& like = slots.layout().buffer(from.buffer);
  for (std::size_t plane = 0; plane < like.planes.size(); ++plane) {
    const std::int64_t cell_bytes = like.planes[plane].width * dtype_bytes(like.dtype);
    const std::int64_t step = std::max<std::int64_t>(1, kc::kBytesOfPiece / cell_bytes);  // cells of a piece
    for (int entry = 0; entry < like.batch; ++entry)
      for (std::int64_t first = 0; first < from.num_cells; first += step) {
        const std::int64_t cells = std::min(step, from.num_cells - first);
        const bool dense = from_stride == 1 && to_stride == 1;
        pieces.push_back({pointer<void>(slots.address(from.buffer, plane, entry, from.cell + first * from_stride)),
                          pointer<void>(slots.address(to.buffer, plane, entry, to.cell + first * to_stride)),
                          from_stride * cell_bytes, to_stride * cell_bytes, dense ? cells * cell_bytes : cell_bytes,
                          dense ? 1 : static_cast<std::int32_t>(cells), 0});
      }
  }
}

Launch make_copy(const OpPlan& op, const DeviceSlots& slots, LaunchTable& table) {
  std::vector<kc::CopyPiece> pieces;
  const auto stride = [&](BufferId id) { return slots.layout().buffer(id).stride(op.walk); };
  for (const CellPair& pair : op.pairs)
    zip_runs(pair.from, pair.to, stride, stride,
             [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
               add_copies(slots, {a, a_cell, n}, {b, b_cell, n}, stride(a), stride(b), pieces);
             });
  const auto count = static_cast<std::int32_t>(pieces.size());
  return {kc::choose_copy(), static_cast<unsigned>(count), kc::Copy{table.add(pieces), count, 0}};
}

void plan_local(const Plan& plan, CellFinder& finder, const Op& op, OpPlan& made) {
  const Post& post = plan.post_of(op);
  // A share of a sum by a rank that holds none of the columns it is over.
  if (plan.values[at(post.src)].placement.at(op.rank).empty()) {
    made.zeros = finder.layout().value_slot(post.dst, op.rank);
    return;
  }
  for (const Box& box : plan.values[at(post.dst)].placement.at(op.rank))
    made.pairs.push_back({finder.value_cells(post.src, op.rank, box), finder.value_cells(post.dst, op.rank, box)});
}

}  // namespace

OpPlan plan_op(const Plan& plan, const Request& request, CellFinder& finder, const DeviceSlots& slots, OpId id) {
  const Op& op = plan.ops[at(id)];
  const Post& post = plan.post_of(op);
  OpPlan made;
  made.op = id;
  for (const Epilogue& epilogue : slots.epilogues()) {
    if (epilogue.attend == id) made.epilogue = &epilogue;
    if (epilogue.finish == id) made.is_empty = true;
  }
  if (post.acc != kNone) made.walk = plan.accumulators[at(post.acc)].axis;
  if (made.is_empty) return made;
  if (post.kind == PostKind::kLocal) {
    plan_local(plan, finder, op, made);
    return made;
  }
  if (post.kind == PostKind::kAttend)
    made.tiles = std::make_unique<AttendTiles>(plan, request, finder, op);
  else
    made.pairs = cell_pairs(plan, finder, op);
  if (post.acc == kNone || made.epilogue != nullptr) return made;
  const SlotId accumulator = finder.layout().accumulator_slot(post.acc, op.rank);
  if (slots.places().opener[at(accumulator)] != id) return made;
  made.fresh = made.tiles != nullptr && attends_all_rows(plan, finder.layout(), op, accumulator);
  if (!made.fresh) made.clears = accumulator;
  return made;
}

void LaunchTable::move_to(CUdeviceptr address, Launch& launch) {
  const auto move = [address](auto& array) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(reinterpret_cast<CUdeviceptr>(array) + address);
  };
  const auto move_all = [&]<typename Argument>(Argument& argument) {
    if constexpr (std::is_same_v<Argument, kc::Attend>)
      move(argument.rows), move(argument.keys), move(argument.tiles);
    else if constexpr (!std::is_same_v<Argument, kc::Hold>)
      move(argument.pieces);
  };
  std::visit(move_all, launch.argument);
}

OpWork make_work(const Plan& plan, const OpPlan& op, const DeviceSlots& slots, const GpuFacts& gpu,
                 LaunchTable& table) {
  OpWork work;
  if (op.is_empty) return work;
  const int head_dim = head_dim_of(plan);
  const Post& post = plan.post_of(plan.ops[at(op.op)]);
  if (op.zeros != kNone) {
    work.zeros = slots.address(op.zeros);
    work.num_zeros = slots.layout().allocated_bytes(op.zeros);
    return work;
  }
  if (op.clears != kNone) work.launches.push_back(make_clear(slots, op.clears, head_dim, table));
  if (op.tiles != nullptr)
    work.launches.push_back(make_attend(plan, op, slots, gpu, table));
  else if (post.kind == PostKind::kMerge)
    work.launches.push_back(make_merge(op, slots, head_dim, table));
  else if (post.kind == PostKind::kFinish && !gives_unfinished_rows(plan, post))
    work.launches.push_back(make_finish(plan, op, slots, head_dim, table));
  else
    work.launches.push_back(make_copy(op, slots, table));
  std::erase_if(work.launches, [](const Launch& launch) { return launch.num_blocks == 0; });
  return work;
}

}  // namespace spscope::cuda
