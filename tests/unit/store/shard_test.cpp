// Shards: what was committed is there for readers meanwhile and after a crash, and runs count when they are finished.
#include <chrono>
#include <thread>

#include "backend/analysis/comparison.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::sample_plan;
using testing::TemporaryFolder;

constexpr int kRanks = 4;
const ShardRecord kHead = {ShardKind::kHead, ShardClock::kRun, -1, "0123456789abcdef0123456789abcdef"};
const ShardRecord kRank = {ShardKind::kRank, ShardClock::kRaw, 3, "0123456789abcdef0123456789abcdef"};

StrategyId add_strategy(StoreWriter& writer, const std::string& id) {
  StrategyRecord strategy = testing::sample_strategy(WorkloadId{1});
  strategy.id = id;
  return writer.add_strategy(strategy);
}

// Begins a run and gives it all its figures but the last step.
RunId fill_run(StoreWriter& writer, StrategyId strategy, int layer, std::int64_t makespan_ns) {
  RunRecord record = testing::sample_run(strategy, PlanId{1});
  record.layer = layer;
  const RunId run = writer.begin_run(record);
  for (int rank = 0; rank < kRanks; ++rank) {
    const RankUsage usage = {.rank = rank, .tiles = 17.25 / 4};
    writer.add_usage(run, std::span(&usage, 1));
  }
  writer.add_repeat(run, {.repeat = 0, .makespan_ns = makespan_ns});
  return run;
}

TEST(Shard, ReadersSeeWhatWasCommitted) {
  TemporaryFolder folder;
  const std::string path = folder / "a.rank-3.db";
  StoreWriter writer = StoreWriter::shard(path, kRank, {.tool_version = "1.2.3"});
  EXPECT_EQ(writer.path(), path);
  const StoreReader reader = StoreReader::shard(path);
  EXPECT_EQ(reader.shard_record(), kRank);
  EXPECT_EQ(reader.file().tool_version, "1.2.3");
  writer.add_rank_process({.rank = 3, .host = "node1", .node = 1, .boot_id = "b", .pid = 77, .state_text = {}});
  EXPECT_TRUE(reader.rank_processes().empty());
  writer.checkpoint();
  ASSERT_EQ(reader.rank_processes().size(), 1u);
  EXPECT_EQ(reader.rank_processes()[0].host, "node1");
  writer.add_rank_process({.rank = 3, .host = "node1", .node = 1, .boot_id = "b", .pid = 77, .state_text = "killed"});
  writer.finish();
  EXPECT_EQ(reader.rank_processes()[0].state_text, "killed");
}

// Who opens the log first, as a reader that follows the run, holds it for a moment.
TEST(Shard, WaitsForWhoHoldsItsLog) {
  TemporaryFolder folder;
  const std::string path = folder / "a.rank-3.db";
  StoreWriter writer = StoreWriter::shard(path, kRank, {.tool_version = "1.2.3"});
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    sqlite3_close_v2(raw);
  });
  writer.add_rank_process({.rank = 3, .host = "node1", .node = 1, .boot_id = "b", .pid = 77, .state_text = {}});
  writer.checkpoint();
  EXPECT_EQ(StoreReader::shard(path).rank_processes().size(), 1u);
}

TEST(Shard, RecordsOfRanksRoundTrip) {
  TemporaryFolder folder;
  const std::vector<ClockSample> samples = {{10, 20, 30}, {40, 50, 60}}, more = {{70, 80, 90}};
  const std::vector<RankRepeat> windows = {{RunId{1}, 0, 0, 5, 9}, {RunId{1}, 0, 2, 6, 8}, {RunId{1}, 1, 0, 11, 12}};
  const std::vector<IncidentRecord> incidents = {{2, 1, 17, RunId{1}, IncidentKind::kKilled, "rank 2 was killed"},
                                                 {-1, -1, -1, {}, IncidentKind::kInterrupted, "the user said so"}};
  StoreWriter writer = StoreWriter::shard(folder / "a.head.db", kHead);
  writer.add_workload(testing::sample_workload());
  writer.add_plan(sample_plan());
  fill_run(writer, add_strategy(writer, "a"), 0, 10);
  writer.add_rank_clock({kNoRank, {.raw_zero_ns = 11, .offset_ns = 12}});
  writer.add_rank_clock({2, {.raw_zero_ns = -5, .offset_ns = 7, .drift = 5e-5, .bound_ns = 99, .exchanges = 3}});
  writer.add_clock_samples(2, {{{1, 2, 3}}});
  writer.replace_clock_samples(2, samples);
  writer.add_clock_samples(2, more);
  writer.add_clock_samples(3, more);
  for (const RankRepeat& window : windows) writer.add_rank_repeat(window);
  for (const IncidentRecord& incident : incidents) writer.add_incident(incident);
  writer.finish();
  const StoreReader reader = StoreReader::shard(folder / "a.head.db");
  const std::vector<RankClock> clocks = reader.rank_clocks();
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].rank, kNoRank);
  EXPECT_EQ(clocks[0].fit.raw_zero_ns, 11);
  const auto& [rank, fit] = clocks[1];
  EXPECT_EQ(std::tuple(rank, fit.raw_zero_ns, fit.offset_ns, fit.drift, fit.bound_ns, fit.exchanges),
            std::tuple(2, -5, 7, 5e-5, 99, 3));
  EXPECT_EQ(reader.clock_samples(2), (std::vector<ClockSample>{samples[0], samples[1], more[0]}));
  EXPECT_TRUE(reader.clock_samples(1).empty());
  EXPECT_EQ(reader.rank_repeats(RunId{1}), windows);
  EXPECT_EQ(reader.incidents(), incidents);
}

// The first layer is finished by both strategies, the second by one of them, the third by neither.
TEST(Shard, OnlyLayersThatEveryStrategyFinishedAreCompared) {
  TemporaryFolder folder;
  StoreWriter writer(folder / "out.db");
  WorkloadRecord workload = testing::sample_workload();
  workload.layers = 3;
  writer.add_workload(workload);
  writer.add_plan(sample_plan());
  const StrategyId a = add_strategy(writer, "a"), b = add_strategy(writer, "b");
  for (int layer = 0; layer < 3; ++layer)
    for (const StrategyId strategy : {a, b}) {
      const RunId run = fill_run(writer, strategy, layer, 1000 * (layer + 1) + (strategy == a ? 1 : 2));
      RunRecord record = testing::sample_run(strategy, PlanId{1});
      record.layer = layer;
      if (layer == 0 || (layer == 1 && strategy == a)) writer.finish_run(run, record);
    }
  writer.finish();
  const StoreReader reader(folder / "out.db");
  ASSERT_EQ(reader.runs(a).size(), 3u);
  EXPECT_TRUE(reader.runs(a)[1].finished);
  EXPECT_FALSE(reader.runs(b)[1].finished);
  EXPECT_EQ(reader.runs(a)[1].max_error, 1e-6);
  const Comparison comparison = compare_store(reader).front();
  EXPECT_EQ(comparison.workload.layer_passes_done, 1);
  EXPECT_EQ(comparison.strategies[0].makespan_ns, 1001);
  EXPECT_EQ(comparison.strategies[1].makespan_ns, 1002);
}

TEST(Shard, AFinishedFileIsNoShardAndAShardIsNoFinishedFile) {
  TemporaryFolder folder;
  testing::write_sample(folder / "out.db");
  StoreWriter writer = StoreWriter::shard(folder / "a.rank-3.db", kRank);
  EXPECT_EQ(error_of([&] { StoreReader::shard(folder / "out.db"); }).code(), ErrorCode::kStoreForeign);
  EXPECT_EQ(error_of([&] { StoreReader reader(folder / "a.rank-3.db"); }).code(), ErrorCode::kStoreOpen);
  EXPECT_EQ(StoreReader(folder / "out.db").shard_record(), ShardRecord());
}

TEST(Shard, IsNeverWrittenOverAnotherFile) {
  TemporaryFolder folder;
  testing::write_file(folder / "a.rank-3.db", "mine");
  const Error error = error_of([&] { StoreWriter::shard(folder / "a.rank-3.db", kRank); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreExists);
  EXPECT_NE(std::string(error.what()).find("a.rank-3.db"), std::string::npos);
  EXPECT_EQ(testing::read_file(folder / "a.rank-3.db"), "mine");
  EXPECT_EQ(error_of([&] { StoreWriter::shard(folder / "none/b.db", kRank); }).code(), ErrorCode::kOutputPlace);
}

TEST(Shard, MetaThatMakesNoSenseIsRefused) {
  for (const char* sql :
       {"UPDATE meta SET value = 'tail' WHERE key = 'shard'", "UPDATE meta SET value = 'wall' WHERE key = 'clock'",
        "UPDATE meta SET value = 'x' WHERE key = 'shard_rank'",
        "UPDATE meta SET value = '-7' WHERE key = 'shard_rank'"}) {
    TemporaryFolder folder;
    StoreWriter::shard(folder / "a.db", kRank).finish();
    testing::tamper(folder / "a.db", sql);
    EXPECT_EQ(error_of([&] { StoreReader::shard(folder / "a.db"); }).code(), ErrorCode::kStoreCorrupt) << sql;
  }
}

}  // namespace
}  // namespace spscope
