#include "backend/execute/program/memory_layout.h"

#include <algorithm>

#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

constexpr std::int64_t kPlaneAlignmentBytes = 64;  // a cache line, and the longest vector of today's processors

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kPlaneAlignmentBytes - 1) / kPlaneAlignmentBytes * kPlaneAlignmentBytes;
}

std::vector<Plane> planes_of(const Plan& plan, TensorSet tensors) {
  std::vector<Plane> planes;
  for (int t = 0; t < kNumTensors; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    if (!tensors.has(tensor)) continue;
    if (tensor == Tensor::kRowStats)
      planes.insert(planes.end(), 2, Plane{tensor, 1, 0});
    else
      planes.push_back({tensor, plan.tensor_width[t], 0});
  }
  return planes;
}

void set_strides(const SetTable& sets, bool outer_is_fastest, BufferLayout& layout) {
  const std::int64_t outer = sets.size(layout.box.outer), inner = sets.size(layout.box.inner);
  layout.column_cells = outer * inner;
  layout.num_cells = sets.size(layout.box.columns) * layout.column_cells;
  layout.outer_stride = outer_is_fastest ? 1 : inner;
  layout.inner_stride = outer_is_fastest ? outer : 1;
}

void set_planes(BufferLayout& layout) {
  for (Plane& plane : layout.planes) {
    const std::int64_t bytes = layout.batch * layout.num_cells * plane.width * dtype_bytes(layout.dtype);
    plane.offset_bytes = layout.allocated_bytes;
    layout.num_bytes += bytes;
    layout.allocated_bytes += aligned(bytes);
  }
  layout.allocated_bytes = std::max(layout.allocated_bytes, kPlaneAlignmentBytes);
}

void add_once(std::vector<SlotId>& slots, SlotId slot) {
  if (slot != kNone && std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
}

}  // namespace

MemoryLayout::MemoryLayout(const Plan& plan) : ranks_(plan.ranks) {
  value_slots_.assign(plan.values.size() * static_cast<std::size_t>(ranks_), kNone);
  accumulator_slots_.assign(plan.accumulators.size() * static_cast<std::size_t>(ranks_), kNone);
  BufferLayout like;
  like.batch = plan.batch;
  for (std::size_t id = 0; id < plan.values.size(); ++id) {
    const Value& value = plan.values[id];
    if (!value.sources.empty()) continue;
    like.value = static_cast<ValueId>(id);
    like.dtype = plan.element_bytes(value) == dtype_bytes(Dtype::kFp32) ? Dtype::kFp32 : Dtype::kBf16;
    for (like.rank = 0; like.rank < ranks_; ++like.rank)
      value_slots_[index(like.value, like.rank)] = add_slot(plan, like, value.placement.at(like.rank), value.tensors);
  }
  like.value = kNone;
  like.dtype = Dtype::kFp32;
  for (std::size_t id = 0; id < plan.accumulators.size(); ++id) {
    const Placement& rows = plan.values[static_cast<std::size_t>(plan.accumulators[id].q)].placement;
    like.acc = static_cast<AccId>(id);
    for (like.rank = 0; like.rank < ranks_; ++like.rank)
      accumulator_slots_[index(like.acc, like.rank)] = add_slot(plan, like, rows.at(like.rank), kPartialRows);
  }
}

SlotId MemoryLayout::add_slot(const Plan& plan, const BufferLayout& like, std::span<const Box> boxes,
                              TensorSet tensors) {
  if (boxes.empty()) return kNone;
  BufferSlot slot{like.rank, static_cast<BufferId>(buffers_.size()), static_cast<int>(boxes.size()), 0};
  const bool outer_is_fastest =
      like.acc != kNone && plan.accumulators[static_cast<std::size_t>(like.acc)].axis == AttendedAxis::kOuter;
  for (const Box& box : boxes) {
    BufferLayout& layout = buffers_.emplace_back(like);
    layout.box = box;
    layout.planes = planes_of(plan, tensors);
    set_strides(*plan.sets, outer_is_fastest, layout);
    set_planes(layout);
    slot.num_bytes += layout.num_bytes;
  }
  slots_.push_back(slot);
  return static_cast<SlotId>(slots_.size()) - 1;
}

std::int64_t MemoryLayout::allocated_bytes(SlotId id) const {
  const BufferSlot& slot = this->slot(id);
  std::int64_t bytes = 0;
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b)
    bytes += buffer(b).allocated_bytes;
  return bytes;
}

TouchedSlots touched_slots(const Plan& plan, const MemoryLayout& layout, const Op& op) {
  TouchedSlots touched;
  const Post& post = plan.post_of(op);
  for_each_read(plan, op, [&](int rank, ValueId value, const Box&) {
    for_each_base(plan, value, [&](ValueId base) { add_once(touched.read, layout.value_slot(base, rank)); });
  });
  for_each_written_rank(plan, op, [&](int rank) { add_once(touched.written, layout.value_slot(post.dst, rank)); });
  if (post.acc != kNone) add_once(touched.written, layout.accumulator_slot(post.acc, op.rank));
  return touched;
}

}  // namespace spscope
