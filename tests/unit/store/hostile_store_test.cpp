// Files that are damaged, foreign, newer, or made to do harm: each is refused with its reason or read without harm.
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::tamper;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_sample;

// Reads everything that a reader can be asked for.
void read_everything(const std::string& path) {
  const StoreReader reader(path);
  reader.machine();
  for (const WorkloadRecord& workload : reader.workloads())
    for (const MaskPlace& place : reader.mask_places(workload.workload_id)) {
      reader.mask_record(place.mask_id);
      reader.mask_bits(place.mask_id);
      reader.thumbnails(place.mask_id);
    }
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
      reader.usage(run.run_id);
      reader.traffic(run.run_id);
      if (run.plan_id) plan_hash(reader.plan(*run.plan_id));
      for (const RepeatRecord& repeat : reader.repeats(run.run_id)) reader.timeline(run.run_id, repeat.repeat);
    }
  for (const Track& track : reader.events().tracks())
    for (const SpanEvent& event : reader.events().spans(track.track_id)) reader.events().name(event.name);
  reader.events().ledger();
  for (const char* view :
       {"event", "rank_load", "rank_wait", "strategy_summary", "link_traffic", "tensor_traffic", "missing_event"})
    reader.query(std::string("SELECT * FROM ") + view, {.max_ms = 2000});
}

class HostileStore : public ::testing::Test {
 protected:
  HostileStore() { write_sample(path_); }
  ErrorCode code_after(const std::string& sql) {
    tamper(path_, sql);
    return error_of([&] { read_everything(path_); }).code();
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "out.db";
};

TEST_F(HostileStore, WhatIsNoStoreIsNamed) {
  write_file(folder_ / "text", "not a database");
  tamper(folder_ / "theirs.db", "CREATE TABLE meta (key, value)");
  tamper(folder_ / "empty.db", "PRAGMA application_id = 1397773123; PRAGMA user_version = 2; CREATE TABLE a (b)");
  for (const auto& [path, code] : {std::pair(folder_ / "absent.db", ErrorCode::kStoreOpen),
                                   {folder_.path().string(), ErrorCode::kStoreOpen},
                                   {"/dev/null", ErrorCode::kStoreOpen},
                                   {"", ErrorCode::kStoreOpen},
                                   {folder_ / "text", ErrorCode::kStoreForeign},
                                   {folder_ / "theirs.db", ErrorCode::kStoreForeign},
                                   {folder_ / "empty.db", ErrorCode::kStoreCorrupt}})
    EXPECT_EQ(error_of([&path = path] { StoreReader reader(path); }).code(), code) << path;
}

TEST_F(HostileStore, ANewerFileIsRefusedWithBothNumbers) {
  tamper(path_, "UPDATE meta SET value = '7' WHERE key = 'min_reader'");
  const Error error = error_of([&] { StoreReader reader(path_); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreVersion);
  EXPECT_NE(std::string(error.what()).find("schema 7"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("schema 2"), std::string::npos) << error.what();
}

TEST_F(HostileStore, AnOlderFileIsRefusedWithBothNumbers) {
  tamper(path_, "PRAGMA user_version = 1");
  const Error error = error_of([&] { StoreReader reader(path_); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreVersion);
  EXPECT_NE(std::string(error.what()).find("has schema 1; this program reads schema 2"), std::string::npos);
}

// A newer program that only added tables and columns lets us read.
TEST_F(HostileStore, ANewerFileWithOurMinReaderIsRead) {
  tamper(path_,
         "UPDATE meta SET value = '3' WHERE key = 'schema_version'; CREATE TABLE later (x); "
         "ALTER TABLE run ADD COLUMN later INTEGER");
  EXPECT_NO_THROW(read_everything(path_));
  EXPECT_EQ(StoreReader(path_).file().schema_version, 3);
}

TEST_F(HostileStore, TruncationIsNoticedAtEveryLength) {
  const std::string whole = read_file(path_);
  for (std::size_t n = 0; n < whole.size(); n += whole.size() / 97) {
    write_file(path_, whole.substr(0, n));
    const ErrorCode code = error_of([&] { read_everything(path_); }).code();
    const bool never_filled = n == 0 && code == ErrorCode::kStoreOpen;
    EXPECT_TRUE(never_filled || code == ErrorCode::kStoreCorrupt || code == ErrorCode::kStoreForeign) << n;
  }
}

TEST_F(HostileStore, AnUnfinishedFileIsRefused) {
  const std::string sound = read_file(path_);
  std::string bytes = sound;
  bytes[18] = bytes[19] = 2;  // what a database with a write-ahead log has in its header
  write_file(path_, bytes);
  EXPECT_EQ(error_of([&] { StoreReader reader(path_); }).code(), ErrorCode::kStoreOpen);
  write_file(path_, sound);
  write_file(path_ + "-journal", "half a change");
  EXPECT_EQ(error_of([&] { StoreReader reader(path_); }).code(), ErrorCode::kStoreOpen);
}

// Nor does a table that is named as one of our views hide it.
TEST_F(HostileStore, TheViewsOfAFileNeverRun) {
  tamper(path_,
         "CREATE VIEW theirs AS SELECT 1 AS x; CREATE VIEW rank_load AS SELECT 'fake' AS rank; "
         "CREATE TABLE event (name TEXT); INSERT INTO event VALUES ('fake')");
  const StoreReader reader(path_);
  EXPECT_EQ(error_of([&] { reader.query("SELECT * FROM theirs"); }).code(), ErrorCode::kStoreQuery);
  EXPECT_EQ(error_of([&] { reader.query("SELECT * FROM main.rank_load"); }).code(), ErrorCode::kStoreQuery);
  EXPECT_NE(reader.query("SELECT rank FROM rank_load").rows.at(0).at(0), "fake");
  EXPECT_EQ(reader.query("SELECT count(*) FROM event WHERE name = 'fake'").rows[0][0], "0");
}

TEST_F(HostileStore, OtherTablesAndValuesOutOfRangeAreRefused) {
  const std::string off = "PRAGMA ignore_check_constraints = ON; ";
  const std::string changes[] = {"ALTER TABLE run RENAME TO run_kept; CREATE VIEW run AS SELECT * FROM run_kept",
                                 "ALTER TABLE machine_fact RENAME COLUMN value TO worth",
                                 "UPDATE strategy SET mode = 9",
                                 "UPDATE run SET verdict = -1",
                                 "UPDATE rank_usage SET rank = rank - 5",
                                 "UPDATE run SET layer = 1 << 40",
                                 "UPDATE run SET mesh = 9",
                                 "UPDATE strategy_group SET group_index = group_index + 1000000000",
                                 "UPDATE strategy_node SET rank = rank + 2000000000",
                                 "UPDATE plan SET num_ops = 2147483647",
                                 "UPDATE plan SET data = zeroblob(100)",
                                 "UPDATE plan SET hash = '0000000000000000'",
                                 "UPDATE plan SET codec = 2",
                                 "UPDATE mask SET hash = substr(hash, 2)",
                                 "UPDATE mask_thumbnail SET cells = x'00'",
                                 "UPDATE repeat SET begin_ns = -9223372036854775807",
                                 "UPDATE chunk SET count = count - 1",
                                 "UPDATE chunk SET track_id = track_id + 1000",
                                 "UPDATE machine_fact SET value = x'00'",
                                 "DELETE FROM problem",
                                 "UPDATE strategy_parameter SET kind = 1 WHERE name = 'order'"};
  const std::string sound = read_file(path_);
  for (const std::string& change : changes) {
    SCOPED_TRACE(change);
    write_file(path_, sound);
    EXPECT_EQ(code_after(off + change), ErrorCode::kStoreCorrupt);
  }
}

}  // namespace
}  // namespace spscope
