// Where a box of a value lies in memory, as runs of cells (memory_layout.h).
//
// The cells of a box are enumerated in one order, [column][other axis][walked axis], whatever buffers hold them, so
// that two enumerations of the same box pair off cell by cell: that is how data gets from one layout to another,
// between ranks and inside one. Runs are found before a run starts, since they need the table of sets, and only walked
// later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/flat_map.h"
#include "backend/execute/program/memory_layout.h"

namespace spscope {

// `num_cells` cells of a buffer from `cell` on; the step between them is the buffer's stride along the walked axis.
struct CellRun {
  BufferId buffer = 0;
  std::int64_t cell = 0, num_cells = 0;
};

// Finds runs. Used while preparing, by one thread.
class CellFinder {
 public:
  CellFinder(const Plan& plan, const MemoryLayout& layout) : plan_(plan), layout_(layout) {}

  // Cells of `box` as held by `value`, or by a view's bases, at `rank`. Where two buffers hold a cell, the first one
  // counts. Throws Error(kPlanNotHeld) when the rank does not hold all of the box.
  std::vector<CellRun> value_cells(ValueId value, int rank, const Box& box, AttendedAxis walk = AttendedAxis::kInner);
  std::vector<CellRun> accumulator_cells(AccId acc, int rank, const Box& box, AttendedAxis walk);

  // Buffers of a value, or of a view's bases, at a rank.
  std::vector<BufferId> buffers_of_value(ValueId value, int rank) const;
  std::vector<BufferId> buffers_of_accumulator(AccId acc, int rank) const;

  // Position of `index` among the members of a set (-1: not a member), and how many further members follow it without
  // a gap, itself included.
  struct Place {
    std::int32_t position = -1, left = 0;
  };
  Place place(SetId set, std::int32_t index);

  const Plan& plan() const { return plan_; }
  const MemoryLayout& layout() const { return layout_; }

 private:
  struct Segment {
    std::size_t buffer;  // position in the list of buffers
    std::int32_t position, length;
  };
  std::vector<CellRun> find(std::span<const BufferId> buffers, const Box& box, AttendedAxis walk);
  std::vector<Segment> segments(std::span<const BufferId> buffers, std::span<const std::size_t> holding, SetId tokens,
                                AttendedAxis walk);

  const Plan& plan_;
  const MemoryLayout& layout_;
  FlatMap<std::int32_t> prefix_of_;     // set -> start in prefixes_
  std::vector<std::int32_t> prefixes_;  // members before each span of a set
};

// Calls visit(from buffer, from cell, to buffer, to cell, cells) for each stretch that is one run on both sides.
// `from_stride(buffer)` and `to_stride(buffer)` are the steps between cells. REQUIRES: enumerations of equal length.
template <typename FromStride, typename ToStride, typename Visit>
void zip_runs(std::span<const CellRun> from, std::span<const CellRun> to, FromStride&& from_stride,
              ToStride&& to_stride, Visit&& visit) {
  std::size_t i = 0, j = 0;
  std::int64_t from_used = 0, to_used = 0;
  while (i < from.size() && j < to.size()) {
    const std::int64_t n = std::min(from[i].num_cells - from_used, to[j].num_cells - to_used);
    visit(from[i].buffer, from[i].cell + from_used * from_stride(from[i].buffer), to[j].buffer,
          to[j].cell + to_used * to_stride(to[j].buffer), n);
    if ((from_used += n) == from[i].num_cells) ++i, from_used = 0;
    if ((to_used += n) == to[j].num_cells) ++j, to_used = 0;
  }
}

std::int64_t total_cells(std::span<const CellRun> runs);

}  // namespace spscope
