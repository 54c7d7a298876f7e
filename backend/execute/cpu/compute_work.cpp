#include "backend/execute/cpu/compute_work.h"

#include "backend/base/check.h"
#include "backend/execute/cpu/copy.h"

namespace spscope {
namespace {

// -- prepare

void prepare_local(const Plan& plan, const Request& request, LayerParameters* parameters, CellFinder& finder,
                   const Op& op, ComputeWork& work) {
  const Post& post = plan.post_of(op);
  const Kernel& kernel = plan.kernels[static_cast<std::size_t>(post.kernel)];
  // A share of a sum by a rank that holds none of the columns it is over.
  if (plan.values[static_cast<std::size_t>(post.src)].placement.at(op.rank).empty()) return;
  if (find_local_kernel(kernel.name) != nullptr) {
    work.local = std::make_unique<LocalWork>(plan, request, finder, op, parameters);
    return;
  }
  SPSCOPE_CHECK(kernel.contracts && parameters != nullptr);
  work.gemm = std::make_unique<GemmWork>(plan, request, finder, op, *parameters);
}

// -- run

// Rows of an unfinished plane set from `cell` on; rows are next to each other, or `rows` is 1.
kernels::RowState row_state(const HostMemory& memory, BufferId buffer, int entry, std::int64_t cell, int head_dim) {
  return {memory.floats(buffer, 0, entry, cell), memory.floats(buffer, 1, entry, cell),
          memory.floats(buffer, 2, entry, cell), head_dim};
}

void clear(const HostMemory& memory, SlotId slot_id, int head_dim) {
  const BufferSlot& slot = memory.layout().slot(slot_id);
  for (BufferId id = slot.first_buffer; id < slot.first_buffer + slot.num_buffers; ++id) {
    const BufferLayout& layout = memory.layout().buffer(id);
    for (int entry = 0; entry < layout.batch; ++entry)
      kernels::clear_rows(static_cast<std::int32_t>(layout.num_cells), head_dim,
                          row_state(memory, id, entry, 0, head_dim));
  }
}

void run_merge(const ComputeWork& work, const HostMemory& memory) {
  const MemoryLayout& layout = memory.layout();
  const auto stride = [&](BufferId id) { return layout.buffer(id).stride(work.walk); };
  for (const CellPair& pair : work.pairs)
    zip_runs(pair.from, pair.to, stride, stride,
             [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
               const bool dense = stride(a) == 1 && stride(b) == 1;
               const std::int64_t pieces = dense ? 1 : n;
               const auto rows = static_cast<std::int32_t>(dense ? n : 1);
               for (int entry = 0; entry < layout.buffer(a).batch; ++entry)
                 for (std::int64_t i = 0; i < pieces; ++i)
                   kernels::merge_rows(rows, work.head_dim,
                                       row_state(memory, a, entry, a_cell + i * stride(a), work.head_dim),
                                       row_state(memory, b, entry, b_cell + i * stride(b), work.head_dim));
             });
}

void run_finish(const ComputeWork& work, const HostMemory& memory) {
  const MemoryLayout& layout = memory.layout();
  const auto stride = [&](BufferId id) { return layout.buffer(id).stride(work.walk); };
  for (const CellPair& pair : work.pairs) {
    if (work.unfinished) {
      copy_cells(memory, pair.from, pair.to, work.walk);
      continue;
    }
    zip_runs(pair.from, pair.to, stride, stride,
             [&](BufferId a, std::int64_t a_cell, BufferId b, std::int64_t b_cell, std::int64_t n) {
               SPSCOPE_CHECK(stride(a) == 1);
               const BufferLayout& out = layout.buffer(b);
               for (int entry = 0; entry < out.batch; ++entry)
                 kernels::finish_rows(
                     out.dtype, work.head_dim, row_state(memory, a, entry, a_cell, work.head_dim),
                     {memory.address(b, 0, entry, b_cell), static_cast<std::int32_t>(n), stride(b) * work.head_dim});
             });
  }
}

void run_local(const ComputeWork& work, const HostMemory& memory, ComputeScratch& scratch) {
  if (work.gemm)
    work.gemm->run(memory, scratch);
  else if (work.local)
    work.local->run(memory, scratch);
  else
    clear_slot(memory, work.result);
}

}  // namespace

ComputeWork prepare_compute(const Plan& plan, const Request& request, LayerParameters* parameters, CellFinder& finder,
                            const Op& op) {
  const Post& post = plan.post_of(op);
  SPSCOPE_CHECK(!communicates(post.kind));
  ComputeWork work;
  work.kind = post.kind;
  work.head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  work.unfinished = gives_unfinished_rows(plan, post);
  if (post.dst != kNone) work.result = finder.layout().value_slot(post.dst, op.rank);
  if (post.acc != kNone) {
    work.walk = plan.accumulators[static_cast<std::size_t>(post.acc)].axis;
    work.accumulator = finder.layout().accumulator_slot(post.acc, op.rank);
  }
  switch (post.kind) {
    case PostKind::kAttend:
      work.attend = std::make_unique<AttendWork>(plan, request, finder, op);
      break;
    case PostKind::kMerge:
    case PostKind::kFinish:
    case PostKind::kCopy:
      work.pairs = cell_pairs(plan, finder, op);
      break;
    default:
      prepare_local(plan, request, parameters, finder, op, work);
      break;
  }
  return work;
}

void run_compute(const ComputeWork& work, const HostMemory& memory, const std::function<bool(SlotId)>& open,
                 ComputeScratch& scratch) {
  if (work.accumulator != kNone && open(work.accumulator)) clear(memory, work.accumulator, work.head_dim);
  if (work.result != kNone) open(work.result);
  switch (work.kind) {
    case PostKind::kAttend:
      work.attend->run(memory, scratch);
      break;
    case PostKind::kMerge:
      run_merge(work, memory);
      break;
    case PostKind::kFinish:
      run_finish(work, memory);
      break;
    case PostKind::kCopy:
      for (const CellPair& pair : work.pairs) copy_cells(memory, pair.from, pair.to);
      break;
    default:
      run_local(work, memory, scratch);
      break;
  }
}

}  // namespace spscope
