#include "backend/store/chunk/event_writer.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "backend/base/check.h"
#include "backend/base/utf8.h"
#include "backend/store/chunk/chunk_appender.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/work_detail_row.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

struct EventWriter::State {
  struct Filled {
    Track track;
    std::int64_t next_begin_ns = std::numeric_limits<std::int64_t>::min();  // at the earliest
    LedgerRecord ledger;
    bool changed = true;  // since the ledger was written
    ChunkAppender::Open* chunks = nullptr;
  };

  State(Database& db, Compress compress)
      : db(db),
        chunks(db, compress),
        add_track(db, kInsertTrack),
        insert_name(db, "INSERT INTO string (string_id, value) VALUES (?, ?)"),
        insert_communicator(db, "INSERT INTO communicator (communicator_id, lane, ranks) VALUES (?, ?, ?)"),
        insert_detail(db, kInsertWorkDetail),
        insert_ledger(db,
                      "INSERT OR REPLACE INTO ledger (track_id, sent, stored, dropped, unreadable, lost) "
                      "VALUES (?, ?, ?, ?, ?, ?)"),
        insert_note(db, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)") {
    insert_name.run(0, "");
    names.emplace("", 0);
  }

  Filled& at(TrackId track) { return tracks.at(static_cast<std::size_t>(track) - 1); }

  // Keeps the promise of a track: events come one after another.
  void place(Filled& filled, const SpanEvent& event) {
    SPSCOPE_CHECK(event.end_ns >= event.begin_ns && filled.track.kind != TrackKind::kCounter);
    SPSCOPE_CHECK(filled.track.overlapping || event.begin_ns >= filled.next_begin_ns);
    filled.next_begin_ns = std::max(filled.next_begin_ns, next_begin_ns(event));
    if (event.end_ns != kNeverEnded) last_end_ns = std::max(last_end_ns, event.end_ns);
  }
  static const SpanEvent& span_of(const SpanEvent& event) { return event; }
  static const SpanEvent& span_of(const CollectiveEvent& event) { return event.span; }
  static const SpanEvent& span_of(const WorkEvent& event) { return event.span; }

  template <typename Event>
  void append(RunId run, TrackId track, std::span<const Event> events) {
    if (events.empty()) return;
    Filled& filled = at(track);
    for (const Event& event : events) place(filled, span_of(event));
    chunks.append(run, *filled.chunks, events);
    count(track, &LedgerRecord::stored, std::ssize(events));
  }
  void count(TrackId track, std::int64_t LedgerRecord::*what, std::int64_t events) {
    Filled& filled = at(track);
    filled.ledger.*what += events;
    filled.changed = true;
  }
  // What names needed so far: a shard that is never finished says it too.
  void note_names() {
    insert_note.run("strings_repaired", std::to_string(repaired));
    insert_note.run("strings_cut", std::to_string(cut));
    names_changed = false;
  }

  Database& db;
  ChunkAppender chunks;
  Statement add_track, insert_name, insert_communicator, insert_detail, insert_ledger, insert_note;
  std::vector<Filled> tracks;  // track_id - 1
  std::map<std::tuple<int, int, int>, TrackId> track_of;
  std::unordered_map<std::string, NameId> names;
  std::map<std::pair<int, std::string>, CommunicatorId> communicators;
  std::map<WorkDetail, WorkDetailId> details;
  std::int64_t last_end_ns = 0, repaired = 0, cut = 0;
  bool names_changed = false;  // since they were noted
};

EventWriter::EventWriter(Database& db, Compress compress) : state_(std::make_unique<State>(db, compress)) {}
EventWriter::~EventWriter() = default;

TrackId EventWriter::add_track(const Track& track) {
  State::Filled& filled = state_->tracks.emplace_back();
  filled.track = track;
  filled.track.name = clean_text(track.name).text;
  const TrackId id{static_cast<std::int64_t>(state_->tracks.size())};
  filled.track.track_id = filled.ledger.track_id = id;
  filled.chunks = &state_->chunks.at(id);
  insert_track(state_->add_track, filled.track);
  return id;
}

TrackId EventWriter::track(int rank, int lane, int slot, bool overlapping) {
  const auto [it, is_new] = state_->track_of.try_emplace({rank, lane, slot});
  if (is_new) it->second = add_track({.rank = rank, .lane = lane, .slot = slot, .overlapping = overlapping});
  return it->second;
}

NameId EventWriter::name(std::string_view text) {
  const auto known = state_->names.find(std::string(text));
  if (known != state_->names.end()) return known->second;
  const CleanText clean = clean_text(text);
  state_->repaired += clean.repaired;
  state_->cut += clean.cut;
  state_->names_changed |= clean.repaired || clean.cut;
  // The repaired name may be known although the damaged one was not.
  const auto [it, is_new] = state_->names.try_emplace(clean.text, static_cast<NameId>(state_->names.size()));
  const NameId id = it->second;
  if (is_new) state_->insert_name.run(id, clean.text);
  return id;
}

CommunicatorId EventWriter::communicator(int lane, std::span<const int> ranks) {
  std::string list;
  for (int rank : ranks) list += (list.empty() ? "" : " ") + std::to_string(rank);
  const auto next = static_cast<CommunicatorId>(state_->communicators.size() + 1);
  const auto [it, is_new] = state_->communicators.try_emplace({lane, list}, next);
  if (is_new) state_->insert_communicator.run(next, lane, list);
  return it->second;
}

WorkDetailId EventWriter::detail(const WorkDetail& what) {
  if (what == WorkDetail()) return 0;
  const auto next = static_cast<WorkDetailId>(state_->details.size() + 1);
  const auto [it, is_new] = state_->details.try_emplace(what, next);
  if (is_new) insert_work_detail(state_->insert_detail, next, what);
  return it->second;
}

void EventWriter::append(RunId run, TrackId track, std::span<const SpanEvent> events) {
  state_->append(run, track, events);
}

void EventWriter::append(RunId run, TrackId track, std::span<const CollectiveEvent> events) {
  state_->append(run, track, events);
}

void EventWriter::append(RunId run, TrackId track, std::span<const WorkEvent> events) {
  state_->append(run, track, events);
}

void EventWriter::append(RunId run, TrackId track, std::span<const CounterSample> samples) {
  State::Filled& filled = state_->at(track);
  SPSCOPE_CHECK(samples.empty() || filled.track.kind == TrackKind::kCounter);
  for (const CounterSample& sample : samples) {
    SPSCOPE_CHECK(sample.time_ns >= filled.next_begin_ns);
    filled.next_begin_ns = sample.time_ns;
  }
  state_->chunks.append(run, *filled.chunks, samples);
  state_->count(track, &LedgerRecord::stored, std::ssize(samples));
}

void EventWriter::count_dropped(TrackId track, std::int64_t events) {
  state_->count(track, &LedgerRecord::dropped, events);
}
void EventWriter::count_unreadable(TrackId track, std::int64_t events) {
  state_->count(track, &LedgerRecord::unreadable, events);
}

std::int64_t EventWriter::last_end_ns() const { return state_->last_end_ns; }

void EventWriter::flush() {
  state_->chunks.flush();
  if (state_->names_changed) state_->note_names();
  for (State::Filled& filled : state_->tracks) {
    if (!filled.changed) continue;
    filled.changed = false;
    const LedgerRecord& l = filled.ledger;
    state_->insert_ledger.run(l.track_id, l.stored + l.dropped + l.unreadable + l.lost, l.stored, l.dropped,
                              l.unreadable, l.lost);
  }
}

void EventWriter::finish() {
  flush();
  state_->note_names();
}

}  // namespace spscope
