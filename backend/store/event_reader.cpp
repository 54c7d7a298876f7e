// Events as plain rows: the reading half of events.h.
#include <fmt/format.h>

#include "backend/store/events.h"
#include "backend/store/sqlite.h"

namespace spscope {

namespace {

constexpr std::string_view kSpanColumns = "SELECT begin_ns, end_ns, op_id, name_id, flags FROM event_row ";
constexpr std::string_view kCollectiveColumns =
    "SELECT begin_ns, end_ns, op_id, name_id, flags, entry_ns, transfer_begin_ns, transfer_end_ns, sequence, bytes,"
    " communicator_id, peer FROM event_row ";
constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();

SpanEvent span_of(const Statement& row) {
  SpanEvent event;
  event.begin_ns = row.integer(0);
  event.end_ns = row.integer(1);
  event.op_id = row.integer(2);
  event.name = static_cast<NameId>(row.integer(3, 0, kMaxU32));
  event.flags = static_cast<std::uint32_t>(row.integer(4, 0, kMaxU32));
  return event;
}

CollectiveEvent collective_of(const Statement& row) {
  CollectiveEvent event;
  event.span = span_of(row);
  event.entry_ns = row.integer(5);
  event.transfer_begin_ns = row.integer(6);
  event.transfer_end_ns = row.integer(7);
  event.sequence = row.integer(8);
  event.bytes = row.integer(9);
  event.communicator = static_cast<CommunicatorId>(row.integer(10, 0, kMaxU32));
  event.peer = static_cast<std::int32_t>(row.integer(11, -1, std::numeric_limits<std::int32_t>::max()));
  return event;
}

std::vector<SpanEvent> spans_of(Statement& rows, const EventWindow& window) {
  std::vector<SpanEvent> events;
  while (rows.step())
    if (const SpanEvent event = span_of(rows); window.holds(event)) events.push_back(event);
  return events;
}

}  // namespace

EventReader::EventReader(Database& db) : db_(&db) {}

std::vector<Stream> EventReader::streams() const {
  Statement rows(*db_, "SELECT stream_id, rank, lane, slot, overlapping FROM stream ORDER BY rank, lane, slot");
  std::vector<Stream> streams;
  while (rows.step())
    streams.push_back({StreamId{rows.integer(0)}, rows.count(1), rows.count(2), rows.count(3), rows.flag(4)});
  return streams;
}

std::vector<SpanEvent> EventReader::spans(StreamId stream, EventWindow window) const {
  Statement rows(*db_, std::string(kSpanColumns) +
                           "WHERE stream_id = ? AND begin_ns < ? AND end_ns >= ? ORDER BY begin_ns, event_id");
  return spans_of(rows.bind_all(stream, window.end_ns, window.begin_ns), window);
}

std::vector<SpanEvent> EventReader::spans(RunId run, StreamId stream, EventWindow window) const {
  Statement rows(*db_, std::string(kSpanColumns) +
                           "WHERE run_id = ? AND stream_id = ? AND begin_ns < ? AND end_ns >= ? "
                           "ORDER BY begin_ns, event_id");
  return spans_of(rows.bind_all(run, stream, window.end_ns, window.begin_ns), window);
}

std::vector<CollectiveEvent> EventReader::collectives(RunId run, StreamId stream, EventWindow window) const {
  Statement rows(*db_, std::string(kCollectiveColumns) +
                           "WHERE run_id = ? AND stream_id = ? AND begin_ns < ? AND end_ns >= ? "
                           "AND entry_ns IS NOT NULL ORDER BY begin_ns, event_id");
  rows.bind_all(run, stream, window.end_ns, window.begin_ns);
  std::vector<CollectiveEvent> events;
  while (rows.step())
    if (const CollectiveEvent event = collective_of(rows); window.holds(event.span)) events.push_back(event);
  return events;
}

std::vector<OpEvent> EventReader::op_events(RunId run, std::int64_t first_ns, std::int64_t last_ns) const {
  Statement rows(*db_,
                 "SELECT op_id, begin_ns, coalesce(transfer_begin_ns, begin_ns), end_ns FROM event_row "
                 "WHERE run_id = ? AND begin_ns BETWEEN ? AND ? AND op_id >= 0");
  rows.bind_all(run, first_ns, last_ns);
  std::vector<OpEvent> events;
  while (rows.step()) events.push_back({rows.integer(0), rows.integer(1), rows.integer(2), rows.integer(3)});
  return events;
}

std::string EventReader::name(NameId id) const {
  Statement row(*db_, "SELECT value FROM string WHERE string_id = ?");
  if (row.bind_all(id).step()) return row.text(0);
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": it has no name {}", db_->path(), id));
}

std::vector<LedgerRecord> EventReader::ledger() const {
  Statement rows(*db_, "SELECT stream_id, sent, stored, dropped, unreadable, lost FROM ledger ORDER BY stream_id");
  std::vector<LedgerRecord> ledger;
  while (rows.step())
    ledger.push_back({StreamId{rows.integer(0)}, rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4),
                      rows.integer(5)});
  return ledger;
}

}  // namespace spscope
