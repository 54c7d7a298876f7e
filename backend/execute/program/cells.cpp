#include "backend/execute/program/cells.h"

#include <fmt/format.h>

#include "backend/base/error.h"
#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

SetId along(const Box& box, AttendedAxis axis) { return axis == AttendedAxis::kInner ? box.inner : box.outer; }

AttendedAxis other(AttendedAxis axis) {
  return axis == AttendedAxis::kInner ? AttendedAxis::kOuter : AttendedAxis::kInner;
}

void append(std::vector<CellRun>& runs, BufferId buffer, std::int64_t cell, std::int64_t num_cells,
            std::int64_t stride) {
  if (!runs.empty() && runs.back().buffer == buffer && runs.back().cell + runs.back().num_cells * stride == cell)
    runs.back().num_cells += num_cells;
  else
    runs.push_back({buffer, cell, num_cells});
}

template <typename Visit>
void for_each_member(std::span<const Span> spans, Visit&& visit) {
  for (const Span& span : spans)
    for (std::int32_t i = span.begin; i < span.end; ++i) visit(i);
}

}  // namespace

CellFinder::Place CellFinder::place(SetId set, std::int32_t index) {
  const std::span<const Span> spans = plan_.sets->spans(set);
  const auto key = static_cast<std::uint64_t>(set);
  const std::int32_t* known = prefix_of_.find(key);
  const std::int32_t first = known ? *known : static_cast<std::int32_t>(prefixes_.size());
  if (!known) {
    prefix_of_.insert(key, first);
    std::int32_t before = 0;
    for (const Span& span : spans) prefixes_.push_back(before), before += span.size();
  }
  const auto after = std::ranges::upper_bound(spans, index, {}, &Span::begin);
  if (after == spans.begin() || (after - 1)->end <= index) return {};
  const auto s = static_cast<std::size_t>(after - 1 - spans.begin());
  return {prefixes_[static_cast<std::size_t>(first) + s] + index - spans[s].begin, spans[s].end - index};
}

std::vector<BufferId> CellFinder::buffers_of_value(ValueId value, int rank) const {
  std::vector<BufferId> buffers;
  for_each_base(plan_, value, [&](ValueId base) {
    const SlotId id = layout_.value_slot(base, rank);
    if (id == kNone) return;
    for (int i = 0; i < layout_.slot(id).num_buffers; ++i) buffers.push_back(layout_.slot(id).first_buffer + i);
  });
  return buffers;
}

std::vector<BufferId> CellFinder::buffers_of_accumulator(AccId acc, int rank) const {
  std::vector<BufferId> buffers;
  const SlotId id = layout_.accumulator_slot(acc, rank);
  if (id == kNone) return buffers;
  for (int i = 0; i < layout_.slot(id).num_buffers; ++i) buffers.push_back(layout_.slot(id).first_buffer + i);
  return buffers;
}

std::vector<CellRun> CellFinder::value_cells(ValueId value, int rank, const Box& box, AttendedAxis walk) {
  return find(buffers_of_value(value, rank), box, walk);
}

std::vector<CellRun> CellFinder::accumulator_cells(AccId acc, int rank, const Box& box, AttendedAxis walk) {
  return find(buffers_of_accumulator(acc, rank), box, walk);
}

// Tokens of one row of the enumeration, cut where the buffer or the position inside it jumps.
std::vector<CellFinder::Segment> CellFinder::segments(std::span<const BufferId> buffers,
                                                      std::span<const std::size_t> holding, SetId tokens,
                                                      AttendedAxis walk) {
  std::vector<Segment> found;
  for (const Span& span : plan_.sets->spans(tokens)) {
    for (std::int32_t token = span.begin; token < span.end;) {
      Place at;
      std::size_t holder = 0;
      for (std::size_t b : holding) {
        holder = b;
        at = place(along(layout_.buffer(buffers[b]).box, walk), token);
        if (at.position >= 0) break;
      }
      if (at.position < 0)
        throw Error(ErrorCode::kPlanNotHeld,
                    fmt::format("an op needs token {} of data that its rank does not hold", token));
      const std::int32_t length = std::min(at.left, span.end - token);
      found.push_back({holder, at.position, length});
      token += length;
    }
  }
  return found;
}

std::vector<CellRun> CellFinder::find(std::span<const BufferId> buffers, const Box& box, AttendedAxis walk) {
  std::vector<CellRun> runs;
  const SetId rows = along(box, other(walk));
  std::vector<std::size_t> holding, previous;
  std::vector<Segment> row_segments;
  for_each_member(plan_.sets->spans(box.columns), [&](std::int32_t column) {
    for_each_member(plan_.sets->spans(rows), [&](std::int32_t row) {
      holding.clear();
      for (std::size_t b = 0; b < buffers.size(); ++b) {
        const Box& held = layout_.buffer(buffers[b]).box;
        if (place(held.columns, column).position >= 0 && place(along(held, other(walk)), row).position >= 0)
          holding.push_back(b);
      }
      if (row_segments.empty() || holding != previous)
        row_segments = segments(buffers, holding, along(box, walk), walk);
      previous = holding;
      for (const Segment& segment : row_segments) {
        const BufferLayout& held = layout_.buffer(buffers[segment.buffer]);
        const std::int64_t cell = place(held.box.columns, column).position * held.column_cells +
                                  place(along(held.box, other(walk)), row).position * held.stride(other(walk)) +
                                  segment.position * held.stride(walk);
        append(runs, buffers[segment.buffer], cell, segment.length, held.stride(walk));
      }
    });
  });
  return runs;
}

std::int64_t total_cells(std::span<const CellRun> runs) {
  std::int64_t n = 0;
  for (const CellRun& run : runs) n += run.num_cells;
  return n;
}

}  // namespace spscope
