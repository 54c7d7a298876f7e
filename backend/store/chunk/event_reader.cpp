#include "backend/store/chunk/event_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "backend/record/rank_records.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/chunk/work_detail_row.h"
#include "backend/store/pyramid/lod_pyramid.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

constexpr const char* kDamagedHint = "spscope recover FILE -o OUT.db keeps what can be read";

// Spans, collectives and work of a track lie in chunks of their own. An instant comes before what begins when it was.
void put_in_order(std::vector<SpanEvent>& events) {
  const auto earlier = [](const SpanEvent& a, const SpanEvent& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
  };
  if (!std::is_sorted(events.begin(), events.end(), earlier)) std::stable_sort(events.begin(), events.end(), earlier);
}

std::vector<SpanEvent> spans_of(Database& db, const ChunkFilter& filter) {
  std::vector<SpanEvent> events;
  for_each_chunk(db, filter, [&](const StoredChunk& chunk) {
    if (chunk.header.kind == RecordKind::kCounter) return;
    const auto first = static_cast<std::ptrdiff_t>(events.size());
    decode_spans(chunk.header, chunk.data, events);
    const auto outside = [&](const SpanEvent& e) { return !filter.window.holds(e); };
    events.erase(std::remove_if(events.begin() + first, events.end(), outside), events.end());
  });
  put_in_order(events);
  return events;
}

}  // namespace

EventReader::EventReader(Database& db) : db_(&db) {}

std::vector<Track> EventReader::tracks() const {
  Statement rows(*db_, fmt::format("SELECT {} FROM main.track ORDER BY rank IS NULL, rank, lane IS NULL, lane, slot, "
                                   "track_id",
                                   kTrackColumns));
  std::vector<Track> tracks;
  while (rows.step()) tracks.push_back(track_of(rows));
  return tracks;
}

std::vector<SpanEvent> EventReader::spans(TrackId track, EventWindow window) const {
  return spans_of(*db_, {.track_id = track, .window = window});
}

std::vector<SpanEvent> EventReader::spans(RunId run, TrackId track, EventWindow window) const {
  return spans_of(*db_, {.run_id = run, .track_id = track, .window = window});
}

std::vector<CollectiveEvent> EventReader::collectives(RunId run, TrackId track, EventWindow window) const {
  std::vector<CollectiveEvent> all, events;
  spscope::for_each_chunk(*db_, {.run_id = run, .track_id = track, .window = window}, [&](const StoredChunk& chunk) {
    if (chunk.header.kind != RecordKind::kCollective) return;
    all.clear();
    decode_collectives(chunk.header, chunk.data, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(events),
                 [&](const CollectiveEvent& e) { return window.holds(e.span); });
  });
  return events;
}

std::vector<WorkEvent> EventReader::work(TrackId track, EventWindow window) const {
  std::vector<WorkEvent> all, events;
  spscope::for_each_chunk(*db_, {.track_id = track, .window = window}, [&](const StoredChunk& chunk) {
    if (chunk.header.kind != RecordKind::kWork) return;
    all.clear();
    decode_work(chunk.header, chunk.data, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(events),
                 [&](const WorkEvent& e) { return window.holds(e.span); });
  });
  return events;
}

std::vector<CounterSample> EventReader::counters(TrackId track, EventWindow window) const {
  std::vector<CounterSample> all, samples;
  spscope::for_each_chunk(*db_, {.track_id = track, .window = window}, [&](const StoredChunk& chunk) {
    if (chunk.header.kind != RecordKind::kCounter) return;
    all.clear();
    decode_counters(chunk.header, chunk.data, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(samples),
                 [&](const CounterSample& s) { return window.begin_ns <= s.time_ns && s.time_ns < window.end_ns; });
  });
  return samples;
}

std::vector<OpEvent> EventReader::op_events(RunId run, std::int64_t first_ns, std::int64_t last_ns) const {
  std::map<TrackId, std::optional<int>> rank_of;
  for (const Track& track : tracks())
    rank_of[track.track_id] = track.kind == TrackKind::kRankLane ? track.rank : std::nullopt;
  std::vector<OpEvent> events;
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  const auto add = [&](const SpanEvent& e, std::int64_t begin_ns, int rank) {
    if (e.op_id >= 0 && first_ns <= e.begin_ns && e.begin_ns <= last_ns)
      events.push_back({e.op_id, e.begin_ns, begin_ns, e.end_ns, rank});
  };
  // Begins are in [first_ns, last_ns]; a window's end is outside of it.
  const EventWindow window{first_ns, last_ns == kNeverEnded ? kNeverEnded : last_ns + 1};
  spscope::for_each_chunk(*db_, {.run_id = run, .window = window}, [&](const StoredChunk& chunk) {
    const ChunkHeader& header = chunk.header;
    if (header.begin_max_ns < first_ns || header.op_max < 0) return;
    const auto rank = rank_of.find(chunk.track_id);
    if (rank == rank_of.end())
      throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": a chunk has no track", db_->path()),
                  kDamagedHint);
    if (!rank->second) return;  // ops run on lanes of ranks
    spans.clear();
    collectives.clear();
    if (header.kind == RecordKind::kCollective)
      decode_collectives(header, chunk.data, collectives);
    else if (header.kind == RecordKind::kSpan)
      decode_spans(header, chunk.data, spans);
    for (const SpanEvent& e : spans) add(e, e.begin_ns, *rank->second);
    for (const CollectiveEvent& e : collectives) add(e.span, e.transfer_begin_ns, *rank->second);
  });
  return events;
}

std::vector<RunSpan> EventReader::run_spans() const {
  // Every column is one of the index chunk_by_run: no chunk is touched.
  Statement rows(*db_,
                 "SELECT run_id, min(begin_min_ns), max(CASE end_max_ns WHEN ?1 THEN begin_max_ns ELSE end_max_ns END) "
                 "FROM main.chunk GROUP BY run_id ORDER BY run_id");
  rows.bind_all(kNeverEnded);
  std::vector<RunSpan> spans;
  while (rows.step()) spans.push_back({chunk_run(rows, 0), rows.integer(1), rows.integer(2)});
  return spans;
}

std::optional<std::vector<RowEvent>> EventReader::row_events(EventWindow window, std::int64_t most) const {
  std::map<TrackId, Track> known;
  for (Track& track : tracks()) known.emplace(track.track_id, std::move(track));
  std::vector<RowEvent> events;
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<WorkEvent> work;
  bool too_many = false;
  for (const RunSpan& run : run_spans()) {
    if (run.first_ns >= window.end_ns || run.last_ns < window.begin_ns || too_many) continue;
    spscope::for_each_chunk(*db_, {.run_id = run.run, .window = window}, [&](const StoredChunk& chunk) {
      const auto found = known.find(chunk.track_id);
      too_many = too_many || std::ssize(events) > most;
      if (found == known.end() || chunk.header.kind == RecordKind::kCounter || too_many) return;
      const Track& track = found->second;
      RowEvent event{.run = run.run,
                     .rank = track.rank.value_or(kNoRank),
                     .lane = track.lane.value_or(-1),
                     .slot = track.slot,
                     .track = track.lane ? std::nullopt : std::optional(track.track_id),
                     .kind = chunk.header.kind};
      const auto add = [&](const SpanEvent& span) {
        event.span = span;
        if (window.holds(span)) events.push_back(event);
      };
      spans.clear();
      collectives.clear();
      work.clear();
      if (chunk.header.kind == RecordKind::kCollective)
        decode_collectives(chunk.header, chunk.data, collectives);
      else if (chunk.header.kind == RecordKind::kWork)
        decode_work(chunk.header, chunk.data, work);
      else
        decode_spans(chunk.header, chunk.data, spans);
      for (const SpanEvent& e : spans) add(e);
      for (const CollectiveEvent& e : collectives) {
        const LodEvent waited = lod_event(e);
        event.wait_begin_ns = waited.wait_begin_ns, event.wait_end_ns = waited.wait_end_ns;
        event.bytes = e.bytes, event.sequence = e.sequence, event.peer = e.peer;
        add(e.span);
      }
      for (const WorkEvent& e : work) {
        event.bytes = e.bytes, event.correlation = e.correlation, event.detail = e.detail;
        add(e.span);
      }
    });
  }
  if (too_many || std::ssize(events) > most) return std::nullopt;
  std::ranges::sort(events, {}, [](const RowEvent& e) {
    return std::tuple(e.rank, e.track, e.span.begin_ns, e.lane, e.slot, e.span.op_id, e.span.end_ns, e.span.name,
                      e.span.flags);
  });
  return events;
}

void EventReader::for_each_chunk(const ChunkFilter& filter,
                                 const std::function<void(const StoredChunk&)>& function) const {
  spscope::for_each_chunk(*db_, filter, function);
}

std::string EventReader::name(NameId id) const {
  Statement row(*db_, "SELECT value FROM string WHERE string_id = ?");
  if (row.bind_all(id).step()) return row.text(0);
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": it has no name {}", db_->path(), id),
              kDamagedHint);
}

WorkDetail EventReader::work_detail(WorkDetailId id) const {
  if (id == 0) return {};
  Statement row(*db_, fmt::format("SELECT {} FROM main.work_detail WHERE work_detail_id = ?", kWorkDetailColumns));
  if (row.bind_all(id).step()) return work_detail_of(row).what;
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": it has no work detail {}", db_->path(), id),
              kDamagedHint);
}

std::vector<LedgerRecord> EventReader::ledger() const {
  Statement rows(*db_, "SELECT track_id, sent, stored, dropped, unreadable, lost FROM ledger ORDER BY track_id");
  std::vector<LedgerRecord> ledger;
  while (rows.step())
    ledger.push_back({TrackId{rows.integer(0)}, rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4),
                      rows.integer(5)});
  return ledger;
}

}  // namespace spscope
