// A part of a finished file: only the events of a range of time, for files that are small enough to pass on.
#pragma once

#include <vector>

#include "backend/store/merge/merge_input.h"

namespace spscope {

// Whether a record is of the range: of events EventWindow::holds.
inline bool is_inside(const SpanEvent& event, const EventWindow& range) { return range.holds(event); }
inline bool is_inside(const CollectiveEvent& event, const EventWindow& range) { return range.holds(event.span); }
inline bool is_inside(const WorkEvent& event, const EventWindow& range) { return range.holds(event.span); }
inline bool is_inside(const CounterSample& sample, const EventWindow& range) {
  return range.begin_ns <= sample.time_ns && sample.time_ns < range.end_ns;
}
template <typename Record>
void erase_outside(std::vector<Record>& records, const EventWindow& range) {
  std::erase_if(records, [&](const Record& record) { return !is_inside(record, range); });
}

// Leaves only the events that the range holds, whole, and samples inside of it, of files whose events are on the run
// clock. Ledgers then count what is left: events out of the range were not sent. Throws Error: the range is empty or
// holds none of the file's time (kUsage, with the range of the file); a chunk is damaged (kStoreCorrupt).
void keep_range(std::vector<MergeSource>& sources, const EventWindow& range);

// Says in the output what was kept, and that repeats which are not all inside have no timeline.
void mark_range(Database& out, const EventWindow& range);

}  // namespace spscope
