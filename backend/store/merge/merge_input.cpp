#include "backend/store/merge/merge_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "backend/base/process.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/work_detail_row.h"
#include "backend/store/new_store.h"
#include "backend/store/open_store.h"
#include "backend/store/output_file.h"
#include "backend/store/timeline_events.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
// Whether an SQLite file keeps a write-ahead log: byte 18 of its header.
bool keeps_log(const std::string& path) {
  char header[20] = {};
  const RegularFile file(path);
  return file.is_open() && ::pread(file.descriptor(), header, sizeof header, 0) == sizeof header && header[18] == 2;
}

OpenedStore open_undamaged(const std::string& path) {
  if (keeps_log(path)) return open_shard(path, EventTables::kNo);
  return open_store(path, EventTables::kNo);
}

// A shard for which this process has no descriptors is not damaged.
void require_descriptors(const Error& fault) {
  constexpr int kOfShard = 3;
  if (descriptors_left() < kOfShard)
    throw Error(fault.code(), fault.what(), "raise the limit of open files (ulimit -n), and try again");
}

// One state of a shard, whoever still writes to it.
Database begun(Database db) {
  db.execute("PRAGMA cache_size = -512");  // of many files at once, and each chunk is read once or twice
  db.execute("BEGIN");
  return db;
}

// A file that SQLite cannot open stays without a database. What is left of it then is the now page beside it, which
// only the process of a rank has.
void open_database(MergeSource& source, Damage& damage, const std::shared_ptr<OpenSources>& all) {
  std::function<OpenedStore()> open = [path = source.path] { return open_undamaged(path); };
  Result<OpenedStore> opened = capture(open);
  if (!opened) {
    const Error fault = opened.error();
    require_descriptors(fault);
    damage.require_tolerated(fault);
    open = [path = source.path] { return open_damaged(path, keeps_log(path)); };
    opened = capture(open);
    if (!opened && opened.error().code() == ErrorCode::kStoreVersion) throw opened.error();
    damage.meet(fault, opened ? "it is read as far as SQLite can" : "it is left out");
    if (!opened) {
      source.fault = fault;
      source.shard.kind = ShardKind::kRank;
      source.shard.clock = ShardClock::kRaw;
      return;
    }
  }
  source.shard = opened->shard;
  source.db = std::make_unique<SourceDatabase>(
      begun(std::move(opened->db)), [open] { return begun(open().db); }, all);
}

std::optional<NowPage> now_page_of(const MergeSource& source, Damage& damage) {
  std::filesystem::path path(source.path);
  path.replace_extension(".now");
  if (source.shard.kind != ShardKind::kRank || !std::filesystem::exists(path)) return std::nullopt;
  auto page = capture([&] { return read_now_page(path.string()); });
  if (page) return std::move(*page);
  // Of a shard that was written to its end, the page adds nothing to the shard.
  damage.meet(page.error(), "what its lanes were doing is not known");
  return std::nullopt;
}

// What `take` can take of a table.
void read_table(MergeSource& source, std::string_view table, std::string_view columns, Damage& damage,
                const std::function<void(const Statement&)>& take) {
  damage.read(source, table, [&] { return read_rows(source.database(), table, columns, take); });
}

ChunkPlace place_of_chunk(const Statement& row) {
  ChunkPlace place;
  place.chunk_id = row.integer(0);
  place.run = chunk_run(row, 1);
  place.seq = row.integer(3);
  place.header = chunk_header(row, 4);
  return place;
}

SourceTrack& source_track(MergeSource& source, std::int64_t id) {
  const auto place = source.place_of_track.find(TrackId{id});
  if (place != source.place_of_track.end()) return source.tracks[place->second];
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": a chunk is of no track", source.path),
              "recover what can be read with spscope recover");
}

void read_tracks(MergeSource& source, Damage& damage) {
  read_table(source, "track", kTrackColumns, damage, [&](const Statement& row) {
    const Track track = track_of(row);  // a row that makes no sense throws here, before it has a place
    if (!source.place_of_track.emplace(track.track_id, source.tracks.size()).second)
      throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": a track is there twice", source.path));
    source.tracks.push_back({.track = track, .ledger = {}, .chunks = {}});
  });
  read_table(source, "ledger", "track_id, sent, stored, dropped, unreadable, lost", damage, [&](const Statement& row) {
    source_track(source, row.integer(0)).ledger = {TrackId{row.integer(0)}, row.integer(1), row.integer(2),
                                                   row.integer(3),          row.integer(4), row.integer(5)};
  });
  read_table(source, "chunk", fmt::format("chunk_id, run_id, track_id, seq, {}", kChunkHeaderColumns), damage,
             [&](const Statement& row) { source_track(source, row.integer(2)).chunks.push_back(place_of_chunk(row)); });
  for (SourceTrack& track : source.tracks) {
    std::ranges::stable_sort(track.chunks, {}, &ChunkPlace::seq);
    // A damaged page may be another one's copy.
    const auto repeated = [](const ChunkPlace& a, const ChunkPlace& b) { return a.seq == b.seq; };
    track.chunks.erase(std::unique(track.chunks.begin(), track.chunks.end(), repeated), track.chunks.end());
  }
}

void check_sequence(const MergeSource& source) {
  for (const SourceTrack& track : source.tracks) {
    std::int64_t wanted = 0, stored = 0;
    for (const ChunkPlace& chunk : track.chunks) {
      wanted += chunk.seq == wanted;
      stored += chunk.header.count;
    }
    if (wanted != std::ssize(track.chunks) || stored != track.ledger.stored)
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": {} has {} events in {} chunks, not {}", source.path,
                              track_text(track.track), stored, wanted, track.ledger.stored),
                  "recover what can be read with spscope recover");
  }
}

std::int64_t number_of(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void read_names(MergeSource& source, Damage& damage) {
  read_table(source, "string", "string_id, value", damage,
             [&](const Statement& row) { source.strings.emplace(row.integer(0, 0, kMaxU32), row.text(1)); });
  read_table(source, "communicator", "communicator_id, lane, ranks", damage, [&](const Statement& row) {
    source.communicators.push_back(
        {static_cast<CommunicatorId>(row.integer(0, 0, kMaxU32)), row.count(1), row.text(2)});
  });
  read_table(source, "work_detail", kWorkDetailColumns, damage, [&](const Statement& row) {
    const StoredWorkDetail detail = work_detail_of(row);
    source.details.emplace(detail.id, detail.what);
  });
  read_table(source, "meta", "key, value", damage, [&](const Statement& row) {
    const std::string key = row.text(0);
    if (key == "strings_cut") source.strings_cut = number_of(row.text(1));
    if (key == "strings_repaired") source.strings_repaired = number_of(row.text(1));
    if (source.shard.kind == ShardKind::kRank) read_process_fact(source.process, key, row.text(1));
  });
}

MergeSource open_source(const std::string& path, Damage& damage, const std::shared_ptr<OpenSources>& all) {
  MergeSource source;
  source.path = path;
  open_database(source, damage, all);
  if (source.db != nullptr) source.id = shard_id(source.database());
  if (source.id.empty()) source.id = std::filesystem::weakly_canonical(path).string();
  source.now = now_page_of(source, damage);
  if (source.db == nullptr) return source;
  read_tracks(source, damage);
  read_names(source, damage);
  if (!damage.tolerant) check_sequence(source);
  return source;
}

void drop_repeated(std::vector<MergeSource>& sources, Damage& damage) {
  // Of a shard and its copy the one stays that has a now page beside it.
  std::ranges::stable_sort(sources, {}, [](const MergeSource& source) { return !source.now; });
  std::map<std::string, std::string> path_of;  // by id
  std::erase_if(sources, [&](const MergeSource& source) {
    const auto [known, is_new] = path_of.emplace(source.id, source.path);
    if (is_new) return false;
    damage.meet(
        Error(ErrorCode::kStoreForeign, fmt::format("\"{}\" and \"{}\" are the same shard", known->second, source.path),
              "give each shard of a run once"),
        "it is read once");
    return true;
  });
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

void Damage::require_tolerated(const Error& error) const {
  if (!tolerant) throw error;
  require_damage(error);
}

void Damage::meet(const Error& error, const std::string& what) {
  require_tolerated(error);
  notes.push_back(fmt::format("{}; {}", error.what(), what));
}

void Damage::read(const MergeSource& source, std::string_view table, const std::function<UnreadRows()>& read) {
  const UnreadRows unread = read();
  if (!unread.any()) return;
  lost.insert(std::string(table));
  meet(*unread.cause, fmt::format("of table {} of \"{}\" {}{} invalid row{} are left out", table, source.path,
                                  unread.rest ? "all rows from the first page on that SQLite cannot read and " : "",
                                  unread.bad_rows, unread.bad_rows == 1 ? "" : "s"));
}

std::vector<MergeSource> open_sources(std::span<const std::string> paths, Damage& damage) {
  const auto all = std::make_shared<OpenSources>();
  std::vector<MergeSource> sources;
  for (const std::string& path : paths) sources.push_back(open_source(path, damage, all));
  drop_repeated(sources, damage);
  check_belonging(sources, damage);
  std::sort(sources.begin(), sources.end(), [](const MergeSource& a, const MergeSource& b) {
    return std::tuple(!a.is_head(), a.shard.rank, a.path) < std::tuple(!b.is_head(), b.shard.rank, b.path);
  });
  return sources;
}

}  // namespace spscope
