// Rows of time: what a rank does at each moment where several things claim it, and rows as pixels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/ids.h"
#include "backend/plan/plan.h"
#include "gui/views/timeline/time_part.h"

namespace spscope::gui {

struct TimeSpan {
  std::int64_t begin_ns = 0, end_ns = 0;  // from the zero of the row
  OpId op = kNone;                        // or the number of an event in its list
  TimePart part = TimePart::kOther;
  int hidden = 0;  // not 0: it stands for several that overlap, the hidden-th list of SpreadSpans::hidden
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// What one op or event does in a part of time, as a candidate for the moments of its rank.
struct TimeClaim {
  std::int64_t begin_ns = 0, end_ns = 0;
  OpId op = kNone;
  TimePart part = TimePart::kOther;
};

// Each moment goes to the first of the claims that hold it: compute before data that moves before waiting; of equal
// ones the first that began, then the lower op. In order of time, without overlap.
std::vector<TimeSpan> settled(std::vector<TimeClaim> claims);

// An event of a row whose events may overlap: it waits first, if it does.
struct TimeBox {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t wait_begin_ns = 0, wait_end_ns = 0;  // within; equal: it did not wait
  OpId op = kNone;
  TimePart part = TimePart::kOther;
  TimePart wait_part = TimePart::kLatePeer;

  // What it did, in order of time; some may be empty.
  std::array<TimeClaim, 3> claims() const {
    if (wait_begin_ns >= wait_end_ns) return {{{begin_ns, end_ns, op, part}, {}, {}}};
    return {{{begin_ns, wait_begin_ns, op, part},
             {wait_begin_ns, wait_end_ns, op, wait_part},
             {wait_end_ns, end_ns, op, part}}};
  }
};
// Boxes in rows below each other, so that none overlap: each in the first row that is free when it begins. What finds
// none free but the last stands there, where several of those overlap as one span for all of them.
struct SpreadSpans {
  std::vector<std::vector<TimeSpan>> rows;
  std::vector<std::vector<OpId>> hidden;
};
// REQUIRES: in order of begin; rows > 0.
SpreadSpans spread(std::span<const TimeBox> boxes, int rows);
// How many rows events need so that none overlap, at most `most`. REQUIRES: in order of begin.
int most_at_once(std::span<const SpanEvent> events, int most);

// The begin or end of a span that is nearest to a time, at most so far away; else the time itself. Of a row in order.
std::int64_t nearest_edge(const std::vector<TimeSpan>& spans, std::int64_t ns, std::int64_t most_ns);

// A row as pixels, all of which are set. REQUIRES: `cells` is not empty and begin_ns < end_ns.
void fold_row(std::span<const TimeSpan> spans, double begin_ns, double end_ns, std::span<PixelCell> cells);

// Of rows so high: every how many-th has room for a name so high, a power of two.
int label_step(float row_height, float label_height);

}  // namespace spscope::gui
