// TraceSink: where a collector of events brings them, although it knows neither files nor formats. It asks for a ring
// for each track, from which a thread of the sink takes, and for numbers of names.
#pragma once

#include <cstddef>
#include <string_view>

#include "backend/base/clock_fit.h"
#include "backend/record/event_ring.h"

namespace spscope {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The ring of a track, made when it is new with room for `capacity` records: the track is another when any member but
  // track_id differs. It stays where it is. Times are of one clock for all tracks of a sink.
  virtual EventRing& ring(const Track& track, std::size_t capacity) = 0;
  // Number of the name of events to come.
  virtual NameId name(std::string_view text) = 0;
  // How the clock of the tracks that have no rank becomes the run clock. Without it they are on the raw clock of a host
  // that the run has too.
  virtual void set_clock(const ClockFit& fit) = 0;
};

}  // namespace spscope
