// Events as plain rows: the writing half of events.h.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "backend/base/check.h"
#include "backend/store/events.h"
#include "backend/store/sqlite.h"
#include "backend/store/utf8.h"

namespace spscope {

std::string_view event_category_name(EventCategory category) {
  static constexpr std::string_view names[kNumEventCategories] = {"other",     "attend",   "local",
                                                                  "rearrange", "transfer", "barrier"};
  const auto number = static_cast<std::size_t>(category);
  return number < kNumEventCategories ? names[number] : names[0];
}

struct EventWriter::State {
  struct Filled {
    Stream stream;
    std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t stored = 0, dropped = 0;
  };

  explicit State(Database& db)
      : db(db),
        insert_stream(db, "INSERT INTO stream (stream_id, rank, lane, slot, overlapping) VALUES (?, ?, ?, ?, ?)"),
        insert_name(db, "INSERT INTO string (string_id, value) VALUES (?, ?)"),
        insert_communicator(db, "INSERT INTO communicator (communicator_id, lane, ranks) VALUES (?, ?, ?)"),
        insert_span(db,
                    "INSERT INTO event_row (run_id, stream_id, begin_ns, end_ns, op_id, name_id, flags) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)"),
        insert_collective(db,
                          "INSERT INTO event_row (run_id, stream_id, begin_ns, end_ns, op_id, name_id, flags, entry_ns,"
                          " transfer_begin_ns, transfer_end_ns, sequence, bytes, communicator_id, peer) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {
    insert_name.run(0, "");
    names.emplace("", 0);
  }

  Filled& at(StreamId stream) { return streams.at(static_cast<std::size_t>(stream) - 1); }

  // Keeps the promise of a stream: events come one after another.
  void place(Filled& filled, const SpanEvent& event) {
    SPSCOPE_CHECK(event.end_ns >= event.begin_ns);
    SPSCOPE_CHECK(filled.stream.overlapping || event.begin_ns >= filled.last_end_ns);
    filled.last_end_ns = std::max(filled.last_end_ns, event.end_ns);
    if (event.end_ns != kNeverEnded) last_end_ns = std::max(last_end_ns, event.end_ns);
    ++filled.stored;
  }

  Database& db;
  Statement insert_stream, insert_name, insert_communicator, insert_span, insert_collective;
  std::vector<Filled> streams;  // stream_id - 1
  std::map<std::tuple<int, int, int>, StreamId> stream_of;
  std::unordered_map<std::string, NameId> names;
  std::map<std::pair<int, std::string>, CommunicatorId> communicators;
  std::int64_t last_end_ns = 0, repaired = 0, cut = 0;
};

EventWriter::EventWriter(Database& db) : state_(std::make_unique<State>(db)) {}
EventWriter::~EventWriter() = default;

StreamId EventWriter::stream(int rank, int lane, int slot, bool overlapping) {
  const auto [it, is_new] = state_->stream_of.try_emplace({rank, lane, slot});
  if (is_new) {
    it->second = StreamId{static_cast<std::int64_t>(state_->streams.size()) + 1};
    state_->streams.push_back({.stream = {it->second, rank, lane, slot, overlapping}});
    state_->insert_stream.run(it->second, rank, lane, slot, overlapping);
  }
  return it->second;
}

NameId EventWriter::name(std::string_view text) {
  const auto known = state_->names.find(std::string(text));
  if (known != state_->names.end()) return known->second;
  const CleanText clean = clean_text(text);
  state_->repaired += clean.repaired;
  state_->cut += clean.cut;
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

void EventWriter::append(RunId run, StreamId stream, std::span<const SpanEvent> events) {
  State::Filled& filled = state_->at(stream);
  for (const SpanEvent& e : events) {
    state_->place(filled, e);
    state_->insert_span.run(run, stream, e.begin_ns, e.end_ns, e.op_id, e.name, e.flags);
  }
}

void EventWriter::append(RunId run, StreamId stream, std::span<const CollectiveEvent> events) {
  State::Filled& filled = state_->at(stream);
  for (const CollectiveEvent& e : events) {
    state_->place(filled, e.span);
    state_->insert_collective.run(run, stream, e.span.begin_ns, e.span.end_ns, e.span.op_id, e.span.name, e.span.flags,
                                  e.entry_ns, e.transfer_begin_ns, e.transfer_end_ns, e.sequence, e.bytes,
                                  e.communicator, e.peer);
  }
}

void EventWriter::count_dropped(StreamId stream, std::int64_t dropped) { state_->at(stream).dropped += dropped; }

std::int64_t EventWriter::last_end_ns() const { return state_->last_end_ns; }

void EventWriter::flush() {
  Statement insert(state_->db,
                   "INSERT OR REPLACE INTO ledger (stream_id, sent, stored, dropped, unreadable, lost) "
                   "VALUES (?, ?, ?, ?, 0, 0)");
  for (const State::Filled& filled : state_->streams)
    insert.run(filled.stream.stream_id, filled.stored + filled.dropped, filled.stored, filled.dropped);
}

void EventWriter::finish() {
  flush();
  Statement note(state_->db, "INSERT INTO meta (key, value) VALUES (?, ?)");
  note.run("strings_repaired", std::to_string(state_->repaired));
  note.run("strings_cut", std::to_string(state_->cut));
}

}  // namespace spscope
