// The files that a merge reads: each shard opened, its tracks with the places of their chunks, and the now page beside
// it. A finished file can be read the same way: it is a head whose events are already on the run clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/record/events.h"
#include "backend/record/now_page.h"
#include "backend/record/rank_records.h"
#include "backend/record/work_detail.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/merge/source_database.h"
#include "backend/store/shard_process.h"
#include "backend/store/sqlite/table_rows.h"

namespace spscope {

struct MergeSource;

// What a merge skipped because it was damaged.
struct Damage {
  bool tolerant = false;
  std::vector<std::string> notes;                // for people, in the order in which it was found
  std::set<std::string, std::less<>> lost = {};  // tables of which rows are missing

  // Throws the error unless damage is tolerated and the error is damage (require_damage).
  void require_tolerated(const Error& error) const;
  // The same; otherwise adds a note.
  void meet(const Error& error, const std::string& what);
  // Runs `read`, which reads a table of a source, and notes what it skipped.
  void read(const MergeSource& source, std::string_view table, const std::function<UnreadRows()>& read);
};

struct ChunkPlace {
  std::int64_t chunk_id = 0, seq = 0;
  RunId run = {};
  ChunkHeader header;
  // Of a chunk of which only the events of a range are wanted; `header` then is of those alone.
  struct Cut {
    ChunkHeader whole;  // as it is stored
    EventWindow range;
  };
  std::optional<Cut> cut = {};

  const ChunkHeader& stored() const { return cut ? cut->whole : header; }
};

struct SourceTrack {
  Track track;
  LedgerRecord ledger;  // as the shard has it
  std::vector<ChunkPlace> chunks;
  std::int64_t unreadable = 0;  // events of chunks that cannot be read, beyond those of the ledger
};

struct SourceCommunicator {
  CommunicatorId id = 0;
  int lane = 0;
  std::string ranks;
};

struct MergeSource {
  std::string path;
  ShardRecord shard;                   // kNone: a finished file
  std::string id;                      // shard_id(), or the resolved path of what has none
  std::unique_ptr<SourceDatabase> db;  // absent when SQLite cannot open the file
  std::optional<Error> fault;          // then: why
  std::optional<NowPage> now;
  std::optional<ShardProcess> process;  // one that was watched
  int told_rank = kNoRank;              // of it, as the rows of the shard say; that of `shard` was decided
  std::vector<SourceTrack> tracks;
  std::map<TrackId, std::size_t> place_of_track;
  std::map<std::int64_t, std::string> strings;
  std::vector<SourceCommunicator> communicators;
  std::map<WorkDetailId, WorkDetail> details;
  std::int64_t strings_repaired = 0, strings_cut = 0;

  bool is_head() const { return shard.kind != ShardKind::kRank; }
  // As SourceDatabase::get(). REQUIRES: there is one.
  Database& database() const { return db->get(); }
};

// Opens the files in the order head, then ranks. A shard that is given twice, as the same file or as a copy, is an
// error, or read once where damage is tolerated. Throws Error as merge_shards does.
std::vector<MergeSource> open_sources(std::span<const std::string> paths, Damage& damage);

}  // namespace spscope
