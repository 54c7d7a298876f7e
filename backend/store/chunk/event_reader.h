// EventReader: reads the events of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

class Database;
struct ChunkFilter;
struct StoredChunk;

// The times of an event that a plan's op caused, on the run clock. Of an event that moved no data, begin is post.
struct OpEvent {
  std::int64_t op_id = 0;
  std::int64_t post_ns = 0, begin_ns = 0, end_ns = 0;
  int rank = 0;
};

// Reads events of a store.
class EventReader {
 public:
  explicit EventReader(Database& db);

  std::vector<Track> tracks() const;
  // Spans of the track in the window, collectives among them as plain spans, in order of time. The track's events of
  // all runs, or of one.
  std::vector<SpanEvent> spans(TrackId track, EventWindow window = {}) const;
  std::vector<SpanEvent> spans(RunId run, TrackId track, EventWindow window = {}) const;
  std::vector<CollectiveEvent> collectives(RunId run, TrackId track, EventWindow window = {}) const;
  // Samples of a counter in [begin, end) of the window, of all runs and of none.
  std::vector<CounterSample> counters(TrackId track, EventWindow window = {}) const;
  // Events of ops of all tracks that were posted in [first_ns, last_ns], in one pass over them and in no order.
  std::vector<OpEvent> op_events(RunId run, std::int64_t first_ns, std::int64_t last_ns) const;
  // Chunks as they are stored: stored_chunk.h.
  void for_each_chunk(const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function) const;
  std::string name(NameId id) const;
  std::vector<LedgerRecord> ledger() const;

 private:
  Database* db_;
};

}  // namespace spscope
