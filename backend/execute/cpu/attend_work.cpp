#include "backend/execute/cpu/attend_work.h"

#include <algorithm>
#include <cmath>

namespace spscope {
namespace {

// Q blocks in one kernel call: enough that packing the keys again costs under a hundredth of the call, few enough that
// a call lasts seconds on the largest workloads, so that a rank shows that it is alive.
constexpr std::size_t kQueryBlocksPerCall = 128;

}  // namespace

std::int64_t ComputeScratch::staging_bytes() const {
  std::int64_t bytes = attention.num_bytes() + gemm.num_bytes();
  bytes += static_cast<std::int64_t>(rounded.capacity() * sizeof(Bf16) + statistics.capacity() * sizeof(double) +
                                     row_state.capacity() * sizeof(float));
  for (const std::vector<float>& array : staging) bytes += static_cast<std::int64_t>(array.capacity() * sizeof(float));
  return bytes;
}

AttendWork::AttendWork(const Plan& plan, const Request& request, CellFinder& finder, const Op& op)
    : tiles_(plan, request, finder, op),
      dtype_(plan.dtype),
      head_dim_(plan.tensor_width[static_cast<int>(Tensor::kQ)]),
      batch_(plan.batch),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim_)))) {}

void AttendWork::run(const HostMemory& memory, ComputeScratch& scratch) const {
  for (int entry = 0; entry < batch_; ++entry)
    for (const AttendTiles::Slab& slab : tiles_.slabs)
      for (std::size_t head = 0; head < slab.heads.size(); ++head)
        for (std::size_t sequence = 0; sequence < slab.sequences.size(); ++sequence)
          attend_sequence(memory, slab, head, sequence, entry, scratch);
}

void AttendWork::attend_sequence(const HostMemory& memory, const AttendTiles::Slab& slab, std::size_t head,
                                 std::size_t sequence, int entry, ComputeScratch& scratch) const {
  const auto layout_of = [&](std::int32_t holder) -> const BufferLayout& {
    return memory.layout().buffer(slab.holders[static_cast<std::size_t>(holder)].buffer);
  };
  const auto stride = [&](std::int32_t holder) { return layout_of(holder).stride(tiles_.axis); };
  const auto address = [&](std::int32_t holder, std::size_t plane, std::int32_t position) {
    const AttendTiles::Holder& held = slab.holders[static_cast<std::size_t>(holder)];
    return memory.address(held.buffer, plane, entry, tiles_.cell(layout_of(holder), held, head, sequence, position));
  };
  scratch.q.clear();
  scratch.k.clear();
  scratch.v.clear();
  scratch.state.clear();
  for (const AttendTiles::KeyStretch& key : slab.keys) {
    scratch.k.push_back({address(key.holder, 0, key.position), key.rows, stride(key.holder) * head_dim_});
    scratch.v.push_back({address(key.holder, 1, key.position), key.rows, stride(key.holder) * head_dim_});
  }
  for (const AttendTiles::RowStretch& row : slab.rows) {
    const auto floats = [&](std::size_t plane) {
      return reinterpret_cast<float*>(address(row.acc_holder, plane, row.acc_position));
    };
    scratch.q.push_back({address(row.q_holder, 0, row.q_position), row.rows, stride(row.q_holder) * head_dim_});
    scratch.state.push_back({floats(0), floats(1), floats(2), stride(row.acc_holder) * head_dim_});
  }
  kernels::AttentionTask task{.dtype = dtype_,
                              .head_dim = head_dim_,
                              .scale = scale_,
                              .q = {},
                              .state = {},
                              .k = scratch.k,
                              .v = scratch.v,
                              .row_begin = {},
                              .k_block = slab.k_block[head]};
  const std::span row_begin = std::span(slab.row_begin).subspan(head * (slab.rows.size() + 1), slab.rows.size() + 1);
  for (std::size_t first = 0; first < slab.rows.size(); first += kQueryBlocksPerCall) {
    const std::size_t count = std::min(kQueryBlocksPerCall, slab.rows.size() - first);
    task.q = std::span(scratch.q).subspan(first, count);
    task.state = std::span(scratch.state).subspan(first, count);
    task.row_begin = row_begin.subspan(first, count + 1);
    kernels::attend(task, scratch.attention);
    if (scratch.beat) scratch.beat();
  }
}

}  // namespace spscope
