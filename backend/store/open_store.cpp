#include "backend/store/open_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <fstream>
#include <map>

#include "backend/store/embedded_schema.h"
#include "backend/store/event_table.h"
#include "backend/store/new_store.h"
#include "backend/store/output_file.h"

namespace spscope {

namespace {

void check_kind(const std::string& path) {
  switch (file_kind(path)) {
    case FileKind::kStore:
      return;
    case FileKind::kAbsent:
      throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": there is no such file", path),
                  "give the path of a file that spscope run wrote");
    case FileKind::kFolder:
    case FileKind::kSpecial:
      throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": it is not a regular file", path),
                  "give the path of a file that spscope run wrote");
    case FileKind::kForeign:
      throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is not a file of spscope", path),
                  "give the path of a file that spscope run wrote");
  }
}

std::int64_t big_endian(const std::array<char, 100>& header, std::size_t at, std::size_t bytes) {
  std::int64_t x = 0;
  for (std::size_t i = at; i < at + bytes; ++i) x = x << 8 | static_cast<unsigned char>(header[i]);
  return x;
}

// What SQLite would only notice later: a file cut short, or one that was never finished. Offsets are those of SQLite's
// file format: page size at 16 (1 means 65,536), write format at 18 (2 is write-ahead log), number of pages at 28.
void check_header(const std::string& path) {
  std::array<char, 100> header{};
  std::ifstream(path, std::ios::binary).read(header.data(), header.size());
  if (header[18] == 2 || header[19] == 2)
    throw Error(ErrorCode::kStoreOpen, fmt::format("\"{}\" was not finished: it still has a write-ahead log", path),
                "use the file that the run wrote at its end");
  struct stat status;
  if (::stat((path + "-journal").c_str(), &status) == 0 && status.st_size > 0)
    throw Error(ErrorCode::kStoreOpen,
                fmt::format("\"{}\" was being changed by another program that stopped half way", path),
                "open it once with that program, or copy it again from where it was made");
  const std::int64_t page_bytes = big_endian(header, 16, 2) == 1 ? 65536 : big_endian(header, 16, 2);
  const std::int64_t wanted = page_bytes * big_endian(header, 28, 4);
  if (::stat(path.c_str(), &status) == 0 && status.st_size < wanted)
    throw Error(ErrorCode::kStoreCorrupt,
                fmt::format("\"{}\" is cut short: it has {} of {} bytes", path, status.st_size, wanted),
                "copy it again from where it was made");
}

// Columns by table of a schema, ordinary tables only.
std::map<std::string, std::vector<std::string>> columns_of_tables(Database& db) {
  std::map<std::string, std::vector<std::string>> tables;
  Statement rows(db,
                 "SELECT t.name, c.name FROM main.sqlite_master t, pragma_table_info(t.name) c "
                 "WHERE t.type = 'table' AND t.rootpage > 0 AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid");
  while (rows.step()) tables[rows.text(0)].push_back(rows.text(1));
  return tables;
}

// Views that came with a file never run. Where SQLite cannot see to that, such a file is refused.
void check_views(Database& db) {
  if (can_disable_stored_views()) return;
  Statement views(db, "SELECT name FROM main.sqlite_master WHERE type = 'view'");
  if (views.step())
    throw Error(ErrorCode::kStoreForeign,
                fmt::format("\"{}\" has a view of its own, {}, and this SQLite cannot keep it from running", db.path(),
                            views.text(0)),
                "drop the view or use SQLite 3.35 or newer");
}

// Each of our tables is there as an ordinary table, so that no view or virtual table of the file takes its place.
void check_tables(Database& db) {
  Database expected = Database::in_memory();
  for (const SqlText& migration : embedded_migrations()) expected.execute(std::string(migration.text));
  const auto found = columns_of_tables(db);
  for (const auto& [table, columns] : columns_of_tables(expected)) {
    const auto it = found.find(table);
    if (it == found.end() || it->second.size() < columns.size() ||
        !std::equal(columns.begin(), columns.end(), it->second.begin()))
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": table {} is missing or has other columns", db.path(), table),
                  "copy the file again from where it was made");
  }
}

// The tables of event_table.h over events that are stored one a row.
constexpr const char* kEventRowViews = R"sql(
-- What happened when, on which rank? Every event with the names of its numbers. An event that had not ended when
-- recording stopped ends where its run ends.
CREATE TEMP VIEW event AS
SELECT
  e.event_id,  -- key, in order of writing
  e.run_id,  -- run
  e.stream_id,  -- stream
  s.rank,  -- rank
  s.lane,  -- lane; 0 computes
  s.slot,  -- row within the lane
  e.begin_ns,  -- run clock
  CASE WHEN e.flags >> 16 & 1
    THEN max(e.begin_ns, coalesce((SELECT max(r.end_ns) FROM main.repeat r WHERE r.run_id = e.run_id), e.begin_ns))
    ELSE e.end_ns
  END AS end_ns,  -- run clock
  e.op_id,  -- operation of the run's plan, -1 for none
  n.value AS name,  -- what ran
  c.name AS category,  -- attend, local, rearrange, transfer, barrier, other
  e.flags >> 8 & 255 AS depth,  -- nesting depth, for display
  e.flags >> 16 & 1 AS unfinished,  -- 1 when it had not ended
  e.flags >> 17 & 1 AS clamped,  -- 1 when its end lay before its begin and was moved there
  e.flags >> 18 & 1 AS modelled,  -- 1 when its times come from a model
  e.entry_ns,  -- of a transfer: when the rank entered
  e.transfer_begin_ns,  -- when the last partner had entered and data could move
  e.transfer_end_ns,  -- when the data had moved
  e.sequence,  -- number within the communicator: the post of the plan
  e.bytes,  -- bytes that this rank sent
  e.communicator_id,  -- communicator
  e.peer,  -- the only other rank, -1 when there are several
  e.name_id,  -- string
  e.flags & 255 AS category_id  -- number of the category
FROM main.event_row e
JOIN main.stream s ON s.stream_id = e.stream_id
LEFT JOIN main.string n ON n.string_id = e.name_id
LEFT JOIN main.enum_name c ON c.kind = 'event_row.category' AND c.value = (e.flags & 255);
CREATE TEMP VIEW event_stats AS
SELECT run_id, rank, name, category, sum(1 - unfinished) AS count,
       sum(CASE WHEN unfinished THEN 0 ELSE end_ns - begin_ns END) AS total_ns,
       min(CASE WHEN NOT unfinished THEN end_ns - begin_ns END) AS min_ns,
       max(CASE WHEN NOT unfinished THEN end_ns - begin_ns END) AS max_ns,
       min(CASE WHEN NOT unfinished THEN begin_ns END) AS first_begin_ns,
       max(CASE WHEN NOT unfinished THEN end_ns END) AS last_end_ns, sum(unfinished) AS unfinished
FROM temp.event
GROUP BY run_id, rank, name, category;
)sql";

std::string meta(Database& db, std::string_view key) {
  Statement row(db, "SELECT value FROM main.meta WHERE key = ?");
  return row.bind_all(key).step() ? row.text(0) : std::string();
}

int meta_number(Database& db, std::string_view key) {
  const std::string text = meta(db, key);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": meta.{} is not a number", db.path(), key));
  return number;
}

}  // namespace

void add_event_tables(Database& db) {
  Statement rows(db, "SELECT EXISTS (SELECT 1 FROM main.event_row)");
  if (rows.step() && rows.flag(0)) {
    db.execute(kEventRowViews);
    for (const SqlText& view : embedded_views()) db.execute(std::string(view.text));
    return;
  }
  std::string error;
  if (create_event_tables(db.handle(), error) != SQLITE_OK)
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": {}", db.path(), error),
                "the file is damaged; copy it again from where it was made");
}

namespace {

OpenedStore check_store(Database db) {
  FileRecord file;
  // The numbers come before the tables: a newer file may have other tables.
  file.schema_version = meta_number(db, "schema_version");
  file.min_reader = meta_number(db, "min_reader");
  if (file.min_reader > kSchemaVersion)
    throw Error(ErrorCode::kStoreVersion,
                fmt::format("\"{}\" needs a program that reads schema {}; this one reads schema {}", db.path(),
                            file.min_reader, kSchemaVersion),
                "install a newer spscope");
  check_tables(db);
  check_views(db);
  file.tool_version = meta(db, "tool_version");
  file.created_utc = meta(db, "created_utc");
  add_event_tables(db);
  const ShardRecord shard = shard_record(db);
  db.execute("PRAGMA query_only = ON");
  return {std::move(db), std::move(file), shard};
}

}  // namespace

OpenedStore open_store(const std::string& path) {
  check_kind(path);
  check_header(path);
  return check_store(Database::open_read_only(path));
}

OpenedStore open_shard(const std::string& path) {
  check_kind(path);
  OpenedStore opened = check_store(Database::open_shard(path));
  if (opened.shard.kind == ShardKind::kNone)
    throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is a finished file, not a shard of a run", path),
                "give the shards that a run left, or the file that it was to write");
  return opened;
}

}  // namespace spscope
