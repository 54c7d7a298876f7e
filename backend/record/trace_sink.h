// TraceSink: receives the events of a collector and hides files and formats from it. A collector asks once for a ring
// for each track and for numbers of names; afterwards it only pushes into rings, which never blocks.
//
// All calls may be made from any thread. They may wait for a commit to disk, so not from callbacks of the profiled
// program: get rings and names before. A record of the wrong kind (a sample on a track that is no counter, or an event
// on one that is) is dropped and counted.
#pragma once

#include <cstddef>
#include <string_view>

#include "backend/base/clock_fit.h"
#include "backend/record/event_ring.h"
#include "backend/record/rank_claims.h"
#include "backend/record/work_detail.h"

namespace spscope {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The ring of a track, made when it is new, with room for `capacity` records. Tracks are equal when all members but
  // track_id are. Valid as long as the sink. One thread at a time may push. Times of all tracks of a sink are of one
  // clock. Throws Error: a rank lane without rank or lane, or another track with a lane.
  virtual EventRing& ring(const Track& track, std::size_t capacity) = 0;
  // The number under which events refer to a name.
  virtual NameId name(std::string_view text) = 0;
  // The number under which events refer to a detail.
  virtual WorkDetailId detail(const WorkDetail& what) = 0;
  // Records of a track that never reached its ring, as those that CUPTI dropped or that could not be read: they are
  // added to the track's ledger.
  virtual void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) = 0;
  // The fit from the clock of the sink's tracks to the run clock, but for lanes of ranks, whose clocks are compared by
  // the run. Without it, tracks that name a rank are taken to be on the raw clock of its host, and others on that of a
  // host of the run.
  virtual void set_clock(const ClockFit& fit) = 0;
  // What says which rank this process is, where nobody knew when it began. Ranks of plans are known.
  virtual void claim_rank(const RankClaim& /*claim*/) {}
};

}  // namespace spscope
