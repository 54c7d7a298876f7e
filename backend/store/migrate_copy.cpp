#include "backend/store/migrate_copy.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <vector>

#include "backend/base/check.h"
#include "backend/store/chunk/chunk_appender.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/enum_names.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/table_copy.h"

namespace spscope {

namespace {

std::vector<std::string> tables_of(Database& db) {
  Statement rows(db, "SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name");
  std::vector<std::string> tables;
  while (rows.step()) tables.push_back(rows.text(0));
  return tables;
}

SpanEvent span_of(const Statement& row) {
  constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
  SpanEvent event;
  event.begin_ns = row.integer(2);
  event.end_ns = row.integer(3, event.begin_ns, kNeverEnded);
  event.op_id = row.integer(4);
  event.name = static_cast<NameId>(row.integer(5, 0, kMaxU32));
  event.flags = static_cast<std::uint32_t>(row.integer(6, 0, kMaxU32));
  return event;
}

CollectiveEvent collective_of(const Statement& row) {
  CollectiveEvent event;
  event.span = span_of(row);
  event.entry_ns = row.integer(7);
  event.transfer_begin_ns = row.integer(8);
  event.transfer_end_ns = row.integer(9);
  event.sequence = row.integer(10);
  event.bytes = row.integer(11);
  event.communicator = static_cast<CommunicatorId>(row.integer(12, 0, std::numeric_limits<std::uint32_t>::max()));
  event.peer = static_cast<std::int32_t>(row.integer(13, -1, std::numeric_limits<std::int32_t>::max()));
  return event;
}

// Version 1 has events as rows of the table event_row.
void copy_event_rows(Database& from, Database& to, ChunkCodec codec) {
  Statement rows(from,
                 "SELECT run_id, stream_id, begin_ns, end_ns, op_id, name_id, flags, entry_ns, transfer_begin_ns, "
                 "transfer_end_ns, sequence, bytes, communicator_id, peer FROM main.event_row "
                 "ORDER BY stream_id, run_id, begin_ns, event_id");
  ChunkAppender chunks(to, codec);
  while (rows.step()) {
    const RunId run{rows.integer(0)};
    ChunkAppender::Open& open = chunks.at(StreamId{rows.integer(1)});
    if (rows.is_null(7)) {
      const SpanEvent event = span_of(rows);
      chunks.append(run, open, std::span(&event, 1));
    } else {
      const CollectiveEvent event = collective_of(rows);
      chunks.append(run, open, std::span(&event, 1));
    }
  }
  chunks.flush();
}

}  // namespace

void migrate_copy(Database& from, int version, Database& to, ChunkCodec codec) {
  SPSCOPE_CHECK(version == 1 && kSchemaVersion == 2);
  to.execute(std::string(embedded_migrations()[0].text));
  for (const std::string& table : tables_of(to))
    if (table != "event_row" && table != "enum_name") copy_rows(from, to, table).require_none();
  to.execute(std::string(embedded_migrations()[1].text));
  copy_event_rows(from, to, codec);
  Statement name(to, "INSERT INTO enum_name (kind, value, name) VALUES (?, ?, ?)");
  for (const EnumName& row : enum_names()) name.run(row.kind, row.value, row.name);
  Statement note(to, "UPDATE meta SET value = ? WHERE key = ?");
  note.run(std::to_string(kSchemaVersion), "schema_version");
  note.run(std::to_string(kMinReader), "min_reader");
}

}  // namespace spscope
