// EventWriter: appends events to a store that is being written, as chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backend/record/events.h"
#include "backend/record/work_detail.h"

namespace spscope {

class Database;
enum class Compress : bool;

// Appends events to a store that is being written, as chunks. Not for several threads.
class EventWriter {
 public:
  EventWriter(Database& db, Compress compress);
  ~EventWriter();

  // A new track, whose track_id is made here. REQUIRES: no other lane of a rank has its rank, lane and slot.
  TrackId add_track(const Track& track);
  // The track of a lane of a rank, made when it is new.
  TrackId track(int rank, int lane, int slot, bool overlapping = false);
  // Invalid UTF-8 is repaired, long names are cut at 64 KiB; both are counted in the file's `meta` table.
  NameId name(std::string_view text);
  // `ranks` in group order.
  CommunicatorId communicator(int lane, std::span<const int> ranks);
  // 0 for a detail that says nothing.
  WorkDetailId detail(const WorkDetail& what);

  // A run of kNoRun: of none. REQUIRES: events of a track that is not overlapping come in order, also over several
  // calls.
  void append(RunId run, TrackId track, std::span<const SpanEvent> events);
  void append(RunId run, TrackId track, std::span<const CollectiveEvent> events);
  void append(RunId run, TrackId track, std::span<const WorkEvent> events);
  // REQUIRES: the track is a counter, and the samples come in order.
  void append(RunId run, TrackId track, std::span<const CounterSample> samples);
  // Count events that were sent to the track and will not be stored.
  void count_dropped(TrackId track, std::int64_t events);
  void count_unreadable(TrackId track, std::int64_t events);
  // The end of the latest event that ended; 0 when there is none.
  std::int64_t last_end_ns() const;
  // Writes what is buffered, and the ledger so far.
  void flush();
  // The same for the last time. Called once, by the store writer, before it commits.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spscope
