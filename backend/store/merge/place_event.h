// How events of a shard come to lie on the run clock: by the clock of their track, and not before the end of the event
// before, as a track promises. A merge and live reading do the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend/record/events.h"
#include "backend/store/merge/merge_clock.h"

namespace spscope {

// Of the events of one kind of a track.
struct TrackPlaces {
  std::int64_t next_begin_ns = std::numeric_limits<std::int64_t>::min();

  // Returns whether the event was moved.
  bool place(const ClockFit* fit, bool overlapping, SpanEvent& event) {
    event.begin_ns = on_run_clock(fit, event.begin_ns);
    event.end_ns = on_run_clock(fit, event.end_ns);
    const bool moved = !overlapping && event.begin_ns < next_begin_ns;
    if (moved) {
      event.begin_ns = next_begin_ns;
      event.end_ns = std::max(event.begin_ns, event.end_ns);
      event.flags |= kEventClamped;
    }
    next_begin_ns = std::max(next_begin_ns, spscope::next_begin_ns(event));
    return moved;
  }
};

inline void put_transfer_on_run_clock(const ClockFit* fit, CollectiveEvent& event) {
  for (std::int64_t* time_ns : {&event.entry_ns, &event.transfer_begin_ns, &event.transfer_end_ns})
    *time_ns = on_run_clock(fit, *time_ns);
}

}  // namespace spscope
