// EventReader: reads the events of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/record/events.h"
#include "backend/record/work_detail.h"

namespace spscope {

class Database;
struct ChunkFilter;
struct StoredChunk;
enum class RecordKind : std::uint8_t;

// The times of an event that a plan's op caused, on the run clock. Of an event that moved no data, begin is post.
struct OpEvent {
  std::int64_t op_id = 0;
  std::int64_t post_ns = 0, begin_ns = 0, end_ns = 0;
  int rank = 0;
};

// The time that the events of a run span; of kNoRun those of none.
struct RunSpan {
  RunId run = kNoRun;
  std::int64_t first_ns = 0, last_ns = 0;  // first begin, and last end or, of what never ended, begin
  friend bool operator==(const RunSpan&, const RunSpan&) = default;
};

// An event, where it was, what of its time waits for a late peer (LodEvent), and what a picture tells of it.
struct RowEvent {
  SpanEvent span = {};
  std::int64_t wait_begin_ns = 0, wait_end_ns = 0;  // equal: it did not wait
  RunId run = kNoRun;
  int rank = 0, lane = 0, slot = 0;   // kNoRank: its track names none
  std::optional<TrackId> track = {};  // of an event that is on no lane
  RecordKind kind = {};               // as what it is stored: says which of these are known
  std::int64_t bytes = 0;             // CollectiveEvent, WorkEvent
  std::int64_t sequence = 0;          // CollectiveEvent
  std::int32_t peer = -1;
  std::uint32_t correlation = 0;  // WorkEvent
  WorkDetailId detail = 0;
  friend bool operator==(const RowEvent&, const RowEvent&) = default;
};

// Reads events of a store.
class EventReader {
 public:
  explicit EventReader(Database& db);

  std::vector<Track> tracks() const;
  // Spans of the track in the window, collectives and work among them as plain spans, in order of time. The track's
  // events of all runs, or of one.
  std::vector<SpanEvent> spans(TrackId track, EventWindow window = {}) const;
  std::vector<SpanEvent> spans(RunId run, TrackId track, EventWindow window = {}) const;
  std::vector<CollectiveEvent> collectives(RunId run, TrackId track, EventWindow window = {}) const;
  // Work of the track in the window, of all runs and of none.
  std::vector<WorkEvent> work(TrackId track, EventWindow window = {}) const;
  // Samples of a counter in [begin, end) of the window, of all runs and of none.
  std::vector<CounterSample> counters(TrackId track, EventWindow window = {}) const;
  // Events of ops of all tracks that were posted in [first_ns, last_ns], in one pass over them and in no order.
  std::vector<OpEvent> op_events(RunId run, std::int64_t first_ns, std::int64_t last_ns) const;
  // Of each run that has events, by run.
  std::vector<RunSpan> run_spans() const;
  // Events of all tracks in the window, by rank, those of none first, then track, begin, lane, slot; nothing when there
  // are more than `most`.
  std::optional<std::vector<RowEvent>> row_events(EventWindow window, std::int64_t most) const;
  // Chunks as they are stored: stored_chunk.h.
  void for_each_chunk(const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function) const;
  std::string name(NameId id) const;
  // The detail of an event; nothing set for 0. Throws Error when the file has no such detail.
  WorkDetail work_detail(WorkDetailId id) const;
  std::vector<LedgerRecord> ledger() const;

 private:
  Database* db_;
};

}  // namespace spscope
