// Shards as a run would leave them, made without the code that records: a head with a run of one plan, and rank shards
// whose chunks are put there one by one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/record/now_page.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/work_detail_row.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/unit/store/sample_store.h"

namespace spscope::testing {

inline constexpr const char* kCollection = "00112233445566778899aabbccddeeff";

inline ShardRecord head_shard() {
  return {.kind = ShardKind::kHead, .clock = ShardClock::kRun, .rank = -1, .collection = kCollection};
}
inline ShardRecord rank_shard(int rank) {
  return {.kind = ShardKind::kRank, .clock = ShardClock::kRaw, .rank = rank, .collection = kCollection};
}

struct RankClockAt {
  int rank = 0;
  ClockFit fit;
};

// A head whose one run has the plan of sample_plan(), and a repeat whose events are in the shards of ranks.
inline RunId write_head(const std::string& path, const std::vector<RankClockAt>& clocks) {
  StoreWriter writer = StoreWriter::shard(path, head_shard(), {.tool_version = "head"});
  const WorkloadId workload = writer.add_workload(sample_workload());
  const StrategyId strategy = writer.add_strategy(sample_strategy(workload));
  const RunRecord record = sample_run(strategy, writer.add_plan(sample_plan()));
  const RunId run = writer.add_run(record);
  for (int rank = 0; rank < 4; ++rank)
    writer.add_usage(run, std::vector{RankUsage{.rank = rank, .tiles = *record.tiles / 4}});
  writer.add_repeat(run, {.repeat = 0, .begin_ns = 0, .makespan_ns = 900, .has_timeline = true});
  for (const RankClockAt& clock : clocks) writer.add_rank_clock({clock.rank, clock.fit});
  writer.checkpoint();
  writer.finish();
  return run;
}

template <typename Record>
std::vector<Record> decoded(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  std::vector<Record> records;
  if constexpr (std::is_same_v<Record, SpanEvent>)
    decode_spans(header, data, records);
  else if constexpr (std::is_same_v<Record, WorkEvent>)
    decode_work(header, data, records);
  else
    decode_collectives(header, data, records);
  return records;
}

// A shard of one process, filled chunk by chunk.
class RankShard {
 public:
  RankShard(const std::string& path, int rank) : writer_(StoreWriter::shard(path, rank_shard(rank))) {}

  void add_track(const Track& track) {
    Statement insert(db(), kInsertTrack);
    insert_track(insert, track);
  }
  void add_string(NameId id, const std::string& value) {
    Statement(db(), "INSERT OR REPLACE INTO string (string_id, value) VALUES (?, ?)").run(id, value);
  }
  void add_communicator(CommunicatorId id, int lane, const std::string& ranks) {
    Statement(db(), "INSERT INTO communicator (communicator_id, lane, ranks) VALUES (?, ?, ?)").run(id, lane, ranks);
  }
  void add_detail(WorkDetailId id, const WorkDetail& what) {
    Statement insert(db(), kInsertWorkDetail);
    insert_work_detail(insert, id, what);
  }
  // Chunks of at most `most` events.
  template <typename Record>
  void add_events(RunId run, TrackId track, const std::vector<Record>& events, std::size_t most) {
    for (std::size_t at = 0; at < events.size(); at += most) {
      const EncodedChunk chunk =
          encode_chunk(std::span(events).subspan(at, std::min(most, events.size() - at)), Compress::kFast);
      const ChunkHeader& h = chunk.header;
      Statement(db(),
                "INSERT INTO chunk (run_id, track_id, seq, record_kind, codec, count, begin_min_ns,"
                " begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)")
          .run(stored_run(run), track, next_seq_[track]++, h.kind, h.codec, h.count, h.begin_min_ns, h.begin_max_ns,
               h.end_max_ns, h.op_min, h.op_max, h.crc32c, std::span<const std::uint8_t>(chunk.data));
    }
    stored_[track] += std::ssize(events);
  }
  void add_rank_repeat(const RankRepeat& repeat) { writer_.add_rank_repeat(repeat); }
  StoreWriter& writer() { return writer_; }

  // As a process that was killed after its last commit leaves it.
  void commit() {
    for (const auto& [track, stored] : stored_)
      Statement(db(),
                "INSERT OR REPLACE INTO ledger (track_id, sent, stored, dropped, unreadable, lost) "
                "VALUES (?, ?, ?, 0, 0, 0)")
          .run(track, stored, stored);
    db().execute("COMMIT; BEGIN");
  }

 private:
  Database& db() { return writer_.database(); }
  StoreWriter writer_;
  std::map<TrackId, std::int64_t> next_seq_, stored_;
};

// What a finished file holds, read with nothing but SQL and the codec.
struct MergedFile {
  explicit MergedFile(const std::string& path) : db(Database::open_read_only(path)) {}
  explicit MergedFile(Database opened) : db(std::move(opened)) {}

  // The rows of a table, each as one text.
  std::vector<std::string> rows(const std::string& table) {
    Statement columns(db, "SELECT group_concat('quote(' || name || ')', '||''|''||') FROM pragma_table_info(?)");
    columns.bind_all(table);
    SPSCOPE_CHECK(columns.step());
    std::vector<std::string> texts;
    for (Statement row(db, "SELECT " + columns.text(0) + " FROM " + table); row.step();) texts.push_back(row.text(0));
    return texts;
  }

  // The events of a (rank, lane), in order of chunks.
  template <typename Record = SpanEvent>
  std::vector<Record> events(int rank, int lane) {
    return events_of<Record>("s.rank = " + std::to_string(rank) + " AND s.lane = " + std::to_string(lane));
  }
  // The events of the one track `s` of which a condition holds.
  template <typename Record = SpanEvent>
  std::vector<Record> events_of(const std::string& condition) {
    std::vector<Record> all;
    Statement rows(db,
                   "SELECT c.record_kind, c.codec, c.count, c.begin_min_ns, c.begin_max_ns, c.end_max_ns, c.op_min,"
                   " c.op_max, c.crc32c, c.data, c.seq FROM chunk c JOIN track s USING (track_id) "
                   "WHERE " +
                       condition + " ORDER BY c.seq");
    std::int64_t seq = 0;
    while (rows.step()) {
      const ChunkHeader header{static_cast<RecordKind>(rows.integer(0)),
                               static_cast<ChunkCodec>(rows.integer(1)),
                               rows.count(2),
                               rows.integer(3),
                               rows.integer(4),
                               rows.integer(5),
                               rows.integer(6),
                               rows.integer(7),
                               static_cast<std::uint32_t>(rows.integer(8))};
      EXPECT_EQ(rows.integer(10), seq++);
      for (const Record& record : decoded<Record>(header, rows.blob(9))) all.push_back(record);
    }
    return all;
  }
  std::string text(const std::string& sql) {
    Statement row(db, sql);
    return row.step() ? row.text(0) : "no row";
  }
  std::int64_t number(const std::string& sql) {
    Statement row(db, sql);
    return row.step() ? row.integer(0) : -1;
  }
  std::string name(NameId id) { return text("SELECT value FROM string WHERE string_id = " + std::to_string(id)); }

  Database db;
};

}  // namespace spscope::testing
