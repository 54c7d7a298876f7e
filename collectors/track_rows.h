// TrackRows: brings work that comes in any order to tracks on which it never overlaps.
//
// CUPTI gives records of one stream in the order in which it wrote them, which is not that of their begins; kernels of
// a graph and ranges of a thread overlap. So records are held back until settle(), sorted by begin, and each goes to
// the first row that is free by then: row 0 where nothing overlaps. What comes after later work was settled finds a row
// of its own in the same way; no time is ever moved. One thread makes all calls.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "backend/record/trace_sink.h"

namespace spscope {

// Waits for room in rings of one reader, which looks into all of them: when it makes none in one of them for a second,
// it has ended or hangs, and until it has made some there nobody waits for it any more.
class RoomWait {
 public:
  void for_room_in(EventRing& ring);

 private:
  EventRing* abandoned_ = nullptr;  // in which it made none
};

class TrackRows {
 public:
  static constexpr int kMaxRows = 32;
  static constexpr std::size_t kRingRecords = 4096;

  // Rows of `track`, whose slot and overlapping are those of the row. `wait`: one for all tracks of the sink. What
  // finds `max_rows` taken goes to one more, whose events may overlap.
  TrackRows(TraceSink& sink, Track track, std::shared_ptr<RoomWait> wait = std::make_shared<RoomWait>(),
            int max_rows = kMaxRows)
      : sink_(sink), track_(std::move(track)), wait_(std::move(wait)), max_rows_(max_rows) {}

  // `first_row`: the first that it may have, so that ranges lie below those they are in.
  void add(const RingRecord& work, int first_row = 0) { held_.push_back({work, first_row}); }
  std::size_t num_held() const { return held_.size(); }
  std::size_t num_rows() const { return rows_.size(); }
  // The first record held back for which `found` is true; nullptr: there is none.
  template <typename Found>
  const RingRecord* find_held(const Found& found) const {
    for (const Held& one : held_)
      if (found(one.work)) return &one.work;
    return nullptr;
  }
  // That found no room in the ring of their row, whose ledger counts them as dropped.
  std::int64_t num_refused() const { return num_refused_; }
  // Records held back, and rings of rows.
  std::int64_t memory_bytes() const;
  const Track& track() const { return track_; }
  // REQUIRES: nothing was settled yet.
  void set_rank(int rank) { track_.rank = rank; }

  // Hands over what has ended by then, and what never ended once all is settled; `complete` is called with each record
  // before. Waits for room in rings as long as their reader makes some.
  template <typename Complete>
  void settle(std::int64_t ended_by_ns, const Complete& complete) {
    for (Held& one : held_)
      if (one.work.span.end_ns <= ended_by_ns) complete(one.work);
    settle(ended_by_ns);
  }
  void settle(std::int64_t ended_by_ns);

 private:
  struct Held {
    RingRecord work;
    int first_row = 0;
  };
  struct Row {
    EventRing* ring = nullptr;
    std::int64_t free_from_ns = std::numeric_limits<std::int64_t>::min();
  };
  Row& row_for(const Held& work);

  TraceSink& sink_;
  Track track_;
  std::shared_ptr<RoomWait> wait_;
  int max_rows_ = kMaxRows;
  std::int64_t num_refused_ = 0;
  std::deque<Held> held_;  // no vector: at 1 M records a second, growing one would double 20 MB
  std::vector<Row> rows_;
};

}  // namespace spscope
