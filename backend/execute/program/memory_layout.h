// MemoryLayout: which buffers a plan needs at each rank, and how each is laid out. Made once per plan, before any run.
//
// One buffer holds one box of one base value (views have none: they resolve to the buffers of their bases), or the
// running rows of one box of an accumulator. A buffer is a sequence of planes, one for each tensor of the value, each
// [batch][columns][outer][inner][elements of the tensor], where positions count the members of the box's sets. The
// cells (column, outer, inner) of all planes are numbered alike. Accumulators of an attention along the outer axis
// swap the two token axes, so that the rows of a sequence lie next to each other.
//
// A slot is all buffers of one value, or of one accumulator, at one rank. They live and die together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/plan/plan.h"

namespace spscope {

using BufferId = std::int32_t;
using SlotId = std::int32_t;

// One tensor of a buffer; the running max and the running sum of unfinished rows are planes of their own.
struct Plane {
  Tensor tensor = Tensor::kQ;
  std::int32_t width = 1;         // elements a cell
  std::int64_t offset_bytes = 0;  // from the start of the buffer, a multiple of 64
};

struct BufferLayout {
  int rank = 0;
  ValueId value = kNone;  // kNone: an accumulator
  AccId acc = kNone;      // kNone: a value
  Box box;
  Dtype dtype = Dtype::kFp32;
  int batch = 1;
  std::int64_t num_cells = 0;                       // of one batch entry
  std::int64_t column_cells = 0;                    // cells from one column to the next
  std::int64_t outer_stride = 0, inner_stride = 0;  // in cells
  std::vector<Plane> planes;
  std::int64_t num_bytes = 0;        // of its elements: what the plan counts
  std::int64_t allocated_bytes = 0;  // with planes aligned: a multiple of 64, and at least 64

  std::int64_t stride(AttendedAxis axis) const { return axis == AttendedAxis::kInner ? inner_stride : outer_stride; }
  // From the start of the buffer to a cell of a plane.
  std::int64_t offset_bytes(std::size_t plane, int batch_entry, std::int64_t cell) const {
    return planes[plane].offset_bytes + (batch_entry * num_cells + cell) * planes[plane].width * dtype_bytes(dtype);
  }
};

struct BufferSlot {
  int rank = 0;
  BufferId first_buffer = 0;
  int num_buffers = 0;
  std::int64_t num_bytes = 0;
};

class MemoryLayout {
 public:
  explicit MemoryLayout(const Plan& plan);

  // kNone for a view, and where nothing is placed.
  SlotId value_slot(ValueId value, int rank) const { return value_slots_[index(value, rank)]; }
  SlotId accumulator_slot(AccId acc, int rank) const { return accumulator_slots_[index(acc, rank)]; }
  std::span<const BufferSlot> slots() const { return slots_; }
  std::span<const BufferLayout> buffers() const { return buffers_; }
  const BufferLayout& buffer(BufferId id) const { return buffers_[static_cast<std::size_t>(id)]; }
  const BufferSlot& slot(SlotId id) const { return slots_[static_cast<std::size_t>(id)]; }
  // Bytes that the buffers of a slot take one after the other: each starts at a multiple of 64 and has at least 64.
  std::int64_t allocated_bytes(SlotId id) const;
  int ranks() const { return ranks_; }

 private:
  std::size_t index(std::int32_t id, int rank) const {
    return static_cast<std::size_t>(id) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank);
  }
  SlotId add_slot(const Plan& plan, const BufferLayout& like, std::span<const Box> boxes, TensorSet tensors);

  int ranks_ = 0;
  std::vector<BufferSlot> slots_;
  std::vector<BufferLayout> buffers_;
  std::vector<SlotId> value_slots_, accumulator_slots_;  // [id][rank]
};

// Slots that an op touches, each once: those it reads and those it writes, with the accumulator among the latter.
struct TouchedSlots {
  std::vector<SlotId> read, written;
};
TouchedSlots touched_slots(const Plan& plan, const MemoryLayout& layout, const Op& op);

}  // namespace spscope
