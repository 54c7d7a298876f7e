#include "backend/store/open_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/record/collecting_note.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/event_table/event_table.h"
#include "backend/store/foreign_trace.h"
#include "backend/store/new_store.h"
#include "backend/store/output_file.h"

namespace spscope {

namespace {

constexpr std::size_t kHeaderBytes = 100;  // of an SQLite file

// For the path of a run whose file was not made, or not yet: OUT, OUT.collecting, the folder of its shards, or a shard.
void refuse_unfinished(const std::string& path) {
  const Result<std::optional<CollectingNote>> found = capture([&] { return find_collection(path); });
  if (!found || !*found) return;
  const CollectingNote note = **found;
  const std::string beside = collecting_path(note.out);
  const std::string leads = file_kind(beside) != FileKind::kAbsent ? beside : note.folder;
  if (collector_state(note) == CollectorState::kRuns)
    throw Error(ErrorCode::kStoreOpen,
                fmt::format("\"{}\" is not there yet: process {} is still writing it, as \"{}\" says", note.out,
                            note.pid, leads),
                fmt::format("wait for it, or look at it with: spscope watch \"{}\"", leads));
  throw Error(
      ErrorCode::kStoreOpen,
      fmt::format("\"{}\" was not made: its process {} on host {} ended first; \"{}\" leads to what it recorded",
                  note.out, note.pid, note.host, leads),
      fmt::format("make the file with: spscope recover \"{}\" -o \"{}\"", leads, note.out));
}

// Fewer bytes of a file that has fewer, or cannot be read.
std::string header_of(const std::string& path) {
  const RegularFile file(path);
  return file.is_open() ? file.read_at(0, kHeaderBytes) : std::string();
}

// Where a file differs from a store.
std::string foreign_bytes(const std::string& path) {
  const std::string text = header_of(path);
  if (!text.starts_with(std::string_view("SQLite format 3\0", 16)))
    return "bytes 0 to 15 are not those of an SQLite file";
  if (text.size() < kHeaderBytes)
    return fmt::format("it has {} of the {} bytes of a header", text.size(), kHeaderBytes);
  return "bytes 68 to 71 are not \"SPSC\"";
}

void check_kind(const std::string& path) {
  constexpr const char* kHint = "give the path of a file that spscope run or spscope attach wrote";
  switch (file_kind(path)) {
    case FileKind::kStore:
      return;
    case FileKind::kAbsent:
      refuse_unfinished(path);
      throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": there is no such file", path), kHint);
    case FileKind::kFolder:
      refuse_unfinished(path);
      [[fallthrough]];
    case FileKind::kSpecial:
      throw Error(ErrorCode::kStoreOpen, fmt::format("cannot open \"{}\": it is not a regular file", path), kHint);
    case FileKind::kEmpty:
      if (file_kind(collecting_path(path)) != FileKind::kAbsent) refuse_unfinished(path);
      throw nothing_recorded(path);
    case FileKind::kForeign:
      if (path == collecting_path(path.substr(0, path.rfind('.')))) refuse_unfinished(path);
      if (const std::string trace = foreign_trace(path); !trace.empty())
        throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is {}, which spscope cannot read", path, trace),
                    kRecordInstead);
      throw Error(ErrorCode::kStoreForeign,
                  fmt::format("\"{}\" is not a file of spscope: {}", path, foreign_bytes(path)), kHint);
  }
}

std::int64_t big_endian(std::string_view header, std::size_t at, std::size_t bytes) {
  std::int64_t x = 0;
  for (std::size_t i = at; i < at + bytes; ++i) x = x << 8 | static_cast<unsigned char>(header[i]);
  return x;
}

// Files of drafts of this format are not read.
void check_schema(const std::string& path, std::int64_t version) {
  if (version < kMinReader)
    throw Error(ErrorCode::kStoreVersion,
                fmt::format("\"{}\" has schema {}; this program reads schema {} and newer", path, version, kMinReader),
                "run again what made it");
}

// What SQLite would only notice later: a file cut short, or one that was never finished. Offsets are those of SQLite's
// file format: page size at 16 (1 means 65,536), write format at 18 (2 is write-ahead log), number of pages at 28,
// user_version at 60.
void check_header(const std::string& path) {
  std::string header = header_of(path);
  header.resize(kHeaderBytes);
  if (header[18] == 2 || header[19] == 2) {
    refuse_unfinished(path);
    throw Error(
        ErrorCode::kStoreOpen, fmt::format("\"{}\" was not finished: it still has a write-ahead log", path),
        fmt::format("use the file that the run wrote at its end, or make one with: spscope recover \"{}\" -o FILE.db",
                    path));
  }
  struct stat status;
  if (::stat((path + "-journal").c_str(), &status) == 0 && status.st_size > 0)
    throw Error(ErrorCode::kStoreOpen,
                fmt::format("\"{}\" was being changed by another program that stopped half way", path),
                "open it once with that program, or copy it again from where it was made");
  check_schema(path, big_endian(header, 60, 4));
  const std::int64_t page_bytes = big_endian(header, 16, 2) == 1 ? 65536 : big_endian(header, 16, 2);
  const std::int64_t wanted = page_bytes * big_endian(header, 28, 4);
  if (::stat(path.c_str(), &status) == 0 && status.st_size < wanted)
    throw Error(ErrorCode::kStoreCorrupt,
                fmt::format("\"{}\" is cut short: it has {} of {} bytes", path, status.st_size, wanted),
                "copy it again from where it was made");
}

using ColumnsByTable = std::map<std::string, std::vector<std::string>>;

// Of a schema, ordinary tables only.
ColumnsByTable columns_of_tables(Database& db) {
  ColumnsByTable tables;
  Statement rows(db,
                 "SELECT t.name, c.name FROM main.sqlite_master t, pragma_table_info(t.name) c "
                 "WHERE t.type = 'table' AND t.rootpage > 0 AND t.sql LIKE 'CREATE TABLE %' AND t.name NOT LIKE "
                 "'sqlite_%' ORDER BY t.name, c.cid");
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

// Those of our schema. Made once: that takes longer than opening a small file.
const ColumnsByTable& tables_of_schema() {
  static const ColumnsByTable tables = [] {
    Database db = Database::in_memory();
    db.execute(std::string(embedded_schema()));
    return columns_of_tables(db);
  }();
  return tables;
}

// Each of our tables is there as an ordinary table, so that no view or virtual table of the file takes its place.
void check_tables(Database& db) {
  const ColumnsByTable found = columns_of_tables(db);
  for (const auto& [table, columns] : tables_of_schema()) {
    const auto it = found.find(table);
    if (it == found.end() || it->second.size() < columns.size() ||
        !std::equal(columns.begin(), columns.end(), it->second.begin()))
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": table {} is missing or has other columns", db.path(), table),
                  "where another build of spscope wrote it, run it again; else copy it again from where it was made");
  }
}

std::string meta(Database& db, std::string_view key) {
  Statement row(db, "SELECT value FROM main.meta WHERE key = ?");
  return row.bind_all(key).step() ? row.text(0) : std::string();
}

int meta_number(Database& db, std::string_view key) {
  const std::string text = meta(db, key);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": meta.{} is not a number", db.path(), key),
                fmt::format("spscope recover \"{}\" -o OUT.db keeps what can be read", db.path()));
  return number;
}

}  // namespace

Error nothing_recorded(const std::string& path) {
  return Error(ErrorCode::kStoreOpen,
               fmt::format("\"{}\" was made, and its run ended before anything was recorded in it", path),
               "there is nothing to keep: remove it and run again");
}

void add_event_tables(Database& db) {
  std::string error;
  if (create_event_tables(db.handle(), error) != SQLITE_OK)
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": {}", db.path(), error),
                "the file is damaged; copy it again from where it was made");
}

namespace {

void check_version(Database& db) {
  check_schema(db.path(), meta_number(db, "schema_version"));
  if (const int min_reader = meta_number(db, "min_reader"); min_reader > kSchemaVersion)
    throw Error(ErrorCode::kStoreVersion,
                fmt::format("\"{}\" needs a program that reads schema {}; this one reads schema {}", db.path(),
                            min_reader, kSchemaVersion),
                "install a newer spscope");
}

// The numbers come before the tables: a newer file may have other tables. One that says that it can be read has ours,
// and more.
Database checked(Database db) {
  if (!Statement(db, "SELECT 1 FROM main.sqlite_master LIMIT 1").step()) throw nothing_recorded(db.path());
  check_version(db);
  check_tables(db);
  check_views(db);
  return db;
}

OpenedStore opened(Database db, EventTables tables) {
  FileRecord file;
  file.schema_version = meta_number(db, "schema_version");
  file.min_reader = meta_number(db, "min_reader");
  file.tool_version = meta(db, "tool_version");
  file.created_utc = meta(db, "created_utc");
  file.ranks = meta(db, "ranks");
  const ShardRecord shard = shard_record(db);
  if (tables == EventTables::kYes) add_event_tables(db);
  db.execute("PRAGMA query_only = ON");
  return {std::move(db), std::move(file), shard};
}

}  // namespace

OpenedStore open_store(const std::string& path, EventTables tables) {
  check_kind(path);
  check_header(path);
  return opened(checked(Database::open_read_only(path)), tables);
}

OpenedStore open_damaged(const std::string& path, bool keeps_log) {
  check_kind(path);
  return opened(checked(Database::open_damaged(path, keeps_log)), EventTables::kNo);
}

OpenedStore open_shard(const std::string& path, EventTables tables) {
  check_kind(path);
  OpenedStore store = opened(checked(Database::open_shard(path)), tables);
  if (store.shard.kind == ShardKind::kNone)
    throw Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" is a finished file, not a shard of a run", path),
                "give the shards that a run left, or the file that it was to write");
  return store;
}

}  // namespace spscope
