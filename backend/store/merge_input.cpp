#include "backend/store/merge_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"
#include "backend/store/chunk_row.h"
#include "backend/store/new_store.h"
#include "backend/store/open_store.h"
#include "backend/store/output_file.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
// Chunks without their data; `rest`: which, and in what order.
std::string select_chunks(std::string_view rest) {
  return fmt::format("SELECT chunk_id, run_id, stream_id, seq, {} FROM main.chunk {}", kChunkHeaderColumns, rest);
}

// Whether an SQLite file keeps a write-ahead log: byte 18 of its header.
bool keeps_log(const std::string& path) {
  char header[20] = {};
  std::ifstream(path, std::ios::binary).read(header, sizeof header);
  return header[18] == 2;
}

// Without our own checks, as far as SQLite itself can read.
Database open_damaged(const std::string& path) {
  Database db = keeps_log(path) ? Database::open_shard(path) : Database::open_read_only(path);
  // Lets SQLite read what is there of a file that was cut short. The connection cannot write.
  db.check(sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr));
  db.execute("PRAGMA writable_schema = ON");
  return db;
}

// What the name of a file says that can no longer say it itself: NAME.rank-3.db or NAME.head.db.
ShardRecord shard_by_name(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  ShardRecord shard;
  if (stem.ends_with(".head")) {
    shard.kind = ShardKind::kHead;
    return shard;
  }
  const std::size_t at = stem.rfind(".rank-");
  if (at == std::string::npos) return shard;
  shard.kind = ShardKind::kRank;
  shard.clock = ShardClock::kRaw;
  const char* const end = stem.data() + stem.size();
  if (std::from_chars(stem.data() + at + 6, end, shard.rank).ptr != end) shard.rank = -1;
  return shard;
}

Database open_sound(const std::string& path, ShardRecord& shard) {
  OpenedStore opened = keeps_log(path) ? open_shard(path, EventTables::kNo) : open_store(path, EventTables::kNo);
  shard = opened.shard;
  return std::move(opened.db);
}

std::optional<NowPage> now_page_of(const MergeSource& source, Damage& damage) {
  std::filesystem::path path(source.path);
  path.replace_extension(".now");
  if (source.shard.kind != ShardKind::kRank || !std::filesystem::exists(path)) return std::nullopt;
  auto page = capture([&] { return read_now_page(path.string()); });
  if (page) return std::move(*page);
  // Of a shard that was written to its end, the page tells nothing more than the shard.
  damage.meet(page.error(), "what its lanes were doing is not known");
  return std::nullopt;
}

// Every row that `read` can take of a question; tolerates rows that it cannot.
template <typename Read>
void read_rows(MergeSource& source, const char* sql, Damage& damage, const char* what, Read read) {
  const auto done = capture([&] {
    Statement rows(*source.db, sql);
    while (rows.step()) read(rows);
    return true;
  });
  if (!done) damage.meet(done.error(), what);
}

ChunkPlace chunk_of(const Statement& row) {
  ChunkPlace place;
  place.chunk_id = row.integer(0);
  place.run = RunId{row.integer(1)};
  place.seq = row.integer(3);
  place.header = chunk_header(row, 4);
  return place;
}

SourceStream& stream_of(MergeSource& source, std::int64_t id) {
  const auto place = source.place_of_stream.find(StreamId{id});
  if (place != source.place_of_stream.end()) return source.streams[place->second];
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": a chunk is of no stream", source.path),
              "recover what can be read with spscope recover");
}

void add_chunk(MergeSource& source, const Statement& row) {
  stream_of(source, row.integer(2)).chunks.push_back(chunk_of(row));
}

// The chunks of a table whose scan ended in damage: one by one, by their keys, up to the last that can be found.
void salvage_chunks(MergeSource& source, Damage& damage) {
  for (SourceStream& stream : source.streams) stream.chunks.clear();
  const auto last = capture([&] {
    Statement row(*source.db, "SELECT chunk_id FROM main.chunk ORDER BY chunk_id DESC LIMIT 1");
    return row.step() ? row.integer(0) : 0;
  });
  // Rows lie in the file or in its log, and none is smaller than 64 bytes: a key far beyond that is itself damage.
  std::error_code no_log;
  const auto log_bytes = std::filesystem::file_size(source.path + "-wal", no_log);
  const auto bytes = std::filesystem::file_size(source.path) + (no_log ? 0 : log_bytes);
  std::int64_t limit = static_cast<std::int64_t>(bytes / 64 + 1);
  if (Result<std::int64_t> found = last; found) {
    if (*found > limit)
      damage.notes.push_back(
          fmt::format("{}: a chunk has the number {}, and those above {} are left out", source.path, *found, limit));
    limit = std::min(limit, *found);
  }
  Statement row(*source.db, select_chunks("WHERE chunk_id = ?"));
  std::int64_t unreadable = 0;
  for (std::int64_t id = 1; id <= limit; ++id) {
    const auto read = capture([&] {
      if (row.bind_all(id).step()) add_chunk(source, row);
      row.reset();
      return true;
    });
    if (read) continue;
    Damage::pass_over(read.error());
    ++unreadable;
    row.reset();
  }
  damage.notes.push_back(fmt::format("{}: {} of its chunks could not be found", source.path, unreadable));
}

void read_streams(MergeSource& source, Damage& damage) {
  read_rows(source, "SELECT stream_id, rank, lane, slot, overlapping FROM main.stream ORDER BY rank, lane, slot",
            damage, "some of its streams are missing", [&](const Statement& row) {
              // A row that makes no sense throws here, before it has a place.
              const Stream stream = {StreamId{row.integer(0)}, row.count(1), row.count(2), row.count(3), row.flag(4)};
              source.place_of_stream.emplace(stream.stream_id, source.streams.size());
              source.streams.push_back({.stream = stream, .ledger = {}, .chunks = {}});
            });
  read_rows(source, "SELECT stream_id, sent, stored, dropped, unreadable, lost FROM main.ledger", damage,
            "a part of its ledger is missing", [&](const Statement& row) {
              stream_of(source, row.integer(0)).ledger = {StreamId{row.integer(0)}, row.integer(1), row.integer(2),
                                                          row.integer(3),           row.integer(4), row.integer(5)};
            });
  const auto scanned = capture([&] {
    Statement rows(*source.db, select_chunks("ORDER BY chunk_id"));
    while (rows.step()) add_chunk(source, rows);
    return true;
  });
  if (!scanned) {
    damage.meet(scanned.error(), "its chunks are read one by one");
    salvage_chunks(source, damage);
  }
  for (SourceStream& stream : source.streams)
    std::sort(stream.chunks.begin(), stream.chunks.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
}

void check_sequence(const MergeSource& source) {
  for (const SourceStream& stream : source.streams) {
    std::int64_t wanted = 0, stored = 0;
    for (const ChunkPlace& chunk : stream.chunks) {
      wanted += chunk.seq == wanted;
      stored += chunk.header.count;
    }
    if (wanted != std::ssize(stream.chunks) || stored != stream.ledger.stored)
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": rank {} lane {} has {} events in {} chunks, not {}", source.path,
                              stream.stream.rank, stream.stream.lane, stored, wanted, stream.ledger.stored),
                  "recover what can be read with spscope recover");
  }
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void read_names(MergeSource& source, Damage& damage) {
  read_rows(source, "SELECT string_id, value FROM main.string", damage, "some names are missing",
            [&](const Statement& row) { source.strings.emplace(row.integer(0, 0, kMaxU32), row.text(1)); });
  read_rows(source, "SELECT communicator_id, lane, ranks FROM main.communicator ORDER BY communicator_id", damage,
            "some communicators are missing", [&](const Statement& row) {
              source.communicators.push_back(
                  {static_cast<CommunicatorId>(row.integer(0, 0, kMaxU32)), row.count(1), row.text(2)});
            });
  read_rows(source, "SELECT key, value FROM main.meta WHERE key IN ('strings_repaired', 'strings_cut')", damage,
            "what it counted is missing", [&](const Statement& row) {
              (row.text(0) == "strings_cut" ? source.strings_cut : source.strings_repaired) = number_of(row.text(1));
            });
}

MergeSource open_source(const std::string& path, Damage& damage) {
  MergeSource source;
  source.path = path;
  auto opened = capture([&] { return std::make_unique<Database>(open_sound(path, source.shard)); });
  if (!opened) {
    damage.meet(opened.error(), "it is read as far as it can be");
    source.shard = shard_by_name(path);
    if (file_kind(path) == FileKind::kStore)
      opened = capture([&] { return std::make_unique<Database>(open_damaged(path)); });
    if (opened)
      if (auto shard = capture([&] { return shard_record(**opened); }); shard) source.shard = *shard;
  }
  source.now = now_page_of(source, damage);
  if (!opened) return source;
  source.db = std::move(*opened);
  source.db->execute("PRAGMA cache_size = -512");  // of each file at once, and each chunk is read once or twice
  source.db->execute("BEGIN");                     // one state of a shard, whoever still writes to it
  read_streams(source, damage);
  read_names(source, damage);
  if (!damage.tolerant) check_sequence(source);
  return source;
}

void check_belonging(std::vector<MergeSource>& sources, const Damage& damage) {
  const MergeSource* first = nullptr;
  int heads = 0;
  for (const MergeSource& source : sources) {
    heads += source.is_head();
    if (source.shard.collection.empty()) continue;
    if (first == nullptr) first = &source;
    if (source.shard.collection != first->shard.collection)
      throw Error(ErrorCode::kStoreForeign,
                  fmt::format("\"{}\" and \"{}\" are of different runs", first->path, source.path),
                  "give the shards of one run: those in one folder");
  }
  if (heads > 1 || (heads == 0 && !damage.tolerant))
    throw Error(ErrorCode::kStoreForeign,
                fmt::format("{} of the shards say what was run, not one", heads == 0 ? "none" : std::to_string(heads)),
                "give the head shard, NAME.head.db, and those of the ranks");
}

}  // namespace

void Damage::pass_over(const Error& error) {
  if (memory_was_refused()) throw error;
}

void Damage::meet(const Error& error, const std::string& what) {
  if (!tolerant) throw error;
  pass_over(error);
  notes.push_back(fmt::format("{}; {}", error.what(), what));
}

std::vector<MergeSource> open_sources(std::span<const std::string> paths, Damage& damage) {
  std::vector<MergeSource> sources;
  for (const std::string& path : paths) sources.push_back(open_source(path, damage));
  check_belonging(sources, damage);
  std::sort(sources.begin(), sources.end(), [](const MergeSource& a, const MergeSource& b) {
    return std::tuple(!a.is_head(), a.shard.rank, a.path) < std::tuple(!b.is_head(), b.shard.rank, b.path);
  });
  return sources;
}

}  // namespace spscope
