// Repeats of ranks in a file: rows of rank_repeat in shards, which are written one by one, and chunks of them in
// finished files, where a row would take more bytes than the events of a small repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "backend/record/rank_records.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/sqlite/table_rows.h"

namespace spscope {

// Both forms, of one run or of all; those of a rank and run in order. Throws Error (kStoreCorrupt).
void for_each_rank_repeat(Database& db, std::optional<RunId> run,
                          const std::function<void(const RankRepeat&)>& function);

// All of them, those of a rank and run in order; returns what read_rows skipped in either table.
UnreadRows read_rank_repeats(Database& db, const std::function<void(const RankRepeat&)>& function);

// The first begin of a rank's repeats, or of all ranks', on the clock of the file; rows that cannot be read are
// skipped.
std::optional<std::int64_t> first_rank_repeat_ns(Database& db, std::optional<int> rank);

// Packs repeats into rank_repeat_chunk.
class RankRepeatWriter {
 public:
  RankRepeatWriter(Database& db, ChunkCodec codec);

  // From here on repeats come from another shard: those of a run and rank that an earlier shard told of are left out.
  void begin_source();
  // REQUIRES: repeats of a rank and run come in order of their numbers, and those of one number together where they are
  // to be packed together.
  void add(const RankRepeat& repeat);
  // Writes what is buffered, once for neighbouring ranks whose repeats are the same.
  void flush();
  // The time from the first begin to the last end of its ranks becomes that of each row of `repeat`. Of the runs that
  // ranks recorded, a repeat that not all ranks of its plan tell of has no timeline, since it is not known which events
  // are its own; one that no rank tells of comes after all before it.
  void set_repeat_windows(const std::function<bool(RunId)>& recorded);

 private:
  using Key = std::pair<std::int64_t, int>;  // run, rank or repeat
  struct Window {
    std::int64_t begin_ns = 0, end_ns = 0;
    int ranks = 0;
  };
  void write(const Key& first, int ranks, std::span<const SpanEvent> passes);

  Database& db_;
  ChunkCodec codec_;
  Statement insert_;
  std::map<Key, std::vector<SpanEvent>> open_;  // by run and rank, of the shard at hand
  std::set<Key> known_;                         // of earlier shards
  std::map<Key, Window> windows_;               // by run and repeat
  Key last_;
  bool has_full_ = false;
};

}  // namespace spscope
