// Repeats that ranks recorded, in files of runs that were killed: not every rank told of each before it died.
#include <gmock/gmock.h>

#include "backend/store/merge/merge_shards.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

using ::testing::ElementsAre;
using testing::MergedFile;
using testing::RankShard;

constexpr std::int64_t kMakespanNs = 900;

// A head with three repeats, one after the other on its own clock, which has none of the gaps between them.
RunId write_head(const std::string& path, const Plan& plan, bool modelled) {
  StoreWriter writer = StoreWriter::shard(path, testing::head_shard(), {.tool_version = "head"});
  const WorkloadId workload = writer.add_workload(testing::sample_workload());
  const StrategyId strategy = writer.add_strategy(testing::sample_strategy(workload));
  const RunRecord record = testing::sample_run(strategy, writer.add_plan(plan));
  const RunId run = writer.add_run(record);
  for (int repeat = 0; repeat < 3; ++repeat) {
    RepeatRecord row{.repeat = repeat, .makespan_ns = kMakespanNs, .has_timeline = true};
    const Timeline timeline = testing::sample_timeline(plan, 3);
    if (modelled) row.makespan_ns = timeline.makespan_ns();
    modelled ? writer.add_repeat(run, row, plan, timeline, record.provenance) : writer.add_repeat(run, row);
  }
  writer.checkpoint();
  writer.finish();
  return run;
}

std::vector<std::string> repeats_of(const std::string& path) {
  MergedFile file(path);
  std::vector<std::string> rows;
  Statement row(file.db,
                "SELECT begin_ns || ' to ' || end_ns || iif(has_timeline, ', drawn', '') FROM repeat ORDER BY repeat");
  while (row.step()) rows.push_back(row.text(0));
  return rows;
}

TEST(MergeRepeats, AreDrawnWhenAllRanksToldOfThem) {
  const TemporaryFolder folder;
  const Plan plan = testing::sample_plan(2, "ring", 1);
  const RunId run = write_head(folder / "a.head.db", plan, false);
  std::vector<std::string> shards = {folder / "a.head.db"};
  for (int rank = 0; rank < 2; ++rank) {
    shards.push_back(folder / ("a.rank-" + std::to_string(rank) + ".db"));
    RankShard shard(shards.back(), rank);
    shard.add_track({TrackId{7}, rank, 0, 0, false});
    shard.add_string(1, "attend");
    // An event of each repeat: rank 1 had not yet told of the second, and neither of the third.
    shard.add_events(run, TrackId{7},
                     std::vector<SpanEvent>{{.begin_ns = 10, .end_ns = 910, .op_id = 0, .name = 1},
                                            {.begin_ns = 5000, .end_ns = 5900, .op_id = 0, .name = 1},
                                            {.begin_ns = 7000, .end_ns = 7100, .op_id = 0, .name = 1}},
                     10);
    for (int repeat = 0; repeat < 2 - rank; ++repeat)
      shard.add_rank_repeat({run, repeat, rank, repeat == 0 ? 0 : 5000, repeat == 0 ? 1000 + rank : 5900});
    shard.commit();
  }
  OutputFile file(folder / "out.db", false);
  merge_shards(file, shards, {});
  // The last one comes after all that is known; on the clock of the head it would lie inside of the others.
  EXPECT_THAT(repeats_of(folder / "out.db"), ElementsAre("0 to 1001, drawn", "5000 to 5900", "5901 to 6801"));
}

TEST(MergeRepeats, OfModelledRunsStayAsTheHeadHasThem) {
  const TemporaryFolder folder;
  const Plan plan = testing::sample_plan(2, "ring", 1);
  write_head(folder / "a.head.db", plan, true);
  std::vector<std::string> before;
  {
    Database head = Database::open_shard(folder / "a.head.db");
    Statement row(head, "SELECT begin_ns || ' to ' || end_ns || ', drawn' FROM repeat ORDER BY repeat");
    while (row.step()) before.push_back(row.text(0));
  }
  const std::vector<std::string> shards = {folder / "a.head.db"};
  OutputFile file(folder / "out.db", false);
  merge_shards(file, shards, {});
  EXPECT_THAT(repeats_of(folder / "out.db"), ::testing::ElementsAreArray(before));
}

}  // namespace
}  // namespace spscope
