// Streams, slots, names and the ledger.
#include "backend/store/events.h"

#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::sample_plan;
using testing::TemporaryFolder;

// A store with one run and whatever `fill` adds to its events.
template <typename Fill>
StoreReader store_of(const TemporaryFolder& folder, Fill&& fill) {
  StoreWriter writer(folder / "events.db");
  const WorkloadId workload = writer.add_workload({});
  StrategyRecord strategy;
  strategy.workload_id = workload;
  strategy.id = "a";
  RunRecord run;
  run.strategy_id = writer.add_strategy(strategy);
  const Plan plan = sample_plan();
  run.plan_id = writer.add_plan(plan);
  fill(writer, writer.add_run(run), plan);
  writer.finish();
  return StoreReader(folder / "events.db");
}

TEST(EventWindow, HoldsWhatOverlapsAndInstantsAtItsBegin) {
  const EventWindow window{10, 20};
  const auto holds = [&](std::int64_t begin, std::int64_t end) {
    return window.holds({.begin_ns = begin, .end_ns = end});
  };
  EXPECT_TRUE(holds(5, 11));
  EXPECT_TRUE(holds(19, 30));
  EXPECT_TRUE(holds(0, kNeverEnded));
  EXPECT_TRUE(holds(10, 10));
  EXPECT_FALSE(holds(5, 10));
  EXPECT_FALSE(holds(20, 30));
  EXPECT_FALSE(holds(20, 20));
  EXPECT_FALSE(holds(9, 9));
}

TEST(Events, RecordsRoundTripAndWindowsSelect) {
  TemporaryFolder folder;
  std::vector<SpanEvent> spans;
  CollectiveEvent collective;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    EventWriter& events = writer.events();
    const StreamId compute = events.stream(1, 0, 0), transfer = events.stream(1, 1, 0);
    EXPECT_EQ(events.stream(1, 0, 0), compute);
    const NameId name = events.name("attend");
    EXPECT_EQ(events.name("attend"), name);
    EXPECT_EQ(events.name(""), 0u);
    spans = {{10, 20, 3, name, event_flags(EventCategory::kAttend, 2)},
             {20, 20, -1, 0, 0},
             {25, kNeverEnded, 4, name, event_flags(EventCategory::kLocal) | kEventUnfinished | kEventModelled}};
    events.append(run, compute, spans);
    const std::vector<int> ranks = {1, 3};
    collective = {{5, 30, 7, events.name("exchange kv"), event_flags(EventCategory::kTransfer)},
                  5,
                  9,
                  30,
                  2,
                  4096,
                  events.communicator(1, ranks),
                  3};
    events.append(run, transfer, std::span<const CollectiveEvent>(&collective, 1));
    EXPECT_EQ(events.last_end_ns(), 30);
  });
  const std::vector<Stream> streams = reader.events().streams();
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0], (Stream{streams[0].stream_id, 1, 0, 0, false}));
  EXPECT_EQ(reader.events().spans(streams[0].stream_id), spans);
  EXPECT_EQ(reader.events().spans(RunId{1}, streams[0].stream_id, {20, 25}), std::vector<SpanEvent>{spans[1]});
  EXPECT_TRUE(reader.events().spans(RunId{2}, streams[0].stream_id).empty());
  EXPECT_EQ(reader.events().collectives(RunId{1}, streams[1].stream_id), std::vector<CollectiveEvent>{collective});
  EXPECT_TRUE(reader.events().collectives(RunId{1}, streams[0].stream_id).empty());
  EXPECT_EQ(reader.events().name(spans[0].name), "attend");
  EXPECT_EQ(reader.events().name(0), "");
  EXPECT_EQ(reader.query("SELECT ranks FROM communicator").rows[0][0], "1 3");
}

TEST(Events, AnUnfinishedEventEndsWithItsRun) {
  TemporaryFolder folder;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    writer.add_repeat(run, {.repeat = 0, .begin_ns = 100, .makespan_ns = 50});
    const SpanEvent open = {120, kNeverEnded, 1, 0, kEventUnfinished};
    writer.events().append(run, writer.events().stream(0, 0, 0), std::span<const SpanEvent>(&open, 1));
  });
  const QueryResult shown = reader.query("SELECT end_ns, unfinished FROM event");
  EXPECT_EQ(shown.rows[0][0], "150");
  EXPECT_EQ(shown.rows[0][1], "1");
}

TEST(Events, BadNamesAreRepairedAndCounted) {
  TemporaryFolder folder;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId, const Plan&) {
    EXPECT_NE(writer.events().name("caf\xe9"), 0u);
    EXPECT_EQ(writer.events().name("caf\xe9"), writer.events().name("caf\xef\xbf\xbd"));
    writer.events().name(std::string(100'000, 'x'));
  });
  EXPECT_EQ(reader.query("SELECT value FROM meta WHERE key = 'strings_repaired'").rows[0][0], "2");
  EXPECT_EQ(reader.query("SELECT value FROM meta WHERE key = 'strings_cut'").rows[0][0], "1");
  EXPECT_EQ(reader.query("SELECT max(length(value)) FROM string").rows[0][0], "65536");
}

TEST(Events, TheLedgerBalances) {
  TemporaryFolder folder;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    const StreamId stream = writer.events().stream(0, 0, 0);
    const std::vector<SpanEvent> events = {{0, 1}, {1, 2}};
    writer.events().append(run, stream, events);
    writer.events().count_dropped(stream, 5);
  });
  EXPECT_EQ(reader.events().ledger(), (std::vector<LedgerRecord>{{StreamId{1}, 7, 2, 5, 0, 0}}));
  const QueryResult missing = reader.query("SELECT sent, dropped, unaccounted FROM missing_event");
  ASSERT_EQ(missing.rows.size(), 1u);
  EXPECT_EQ(missing.rows[0][2], "0");
}

// Ops of one lane that overlap lie in different slots, each slot in order; as few as overlap at once.
TEST(Events, OverlappingOpsGoToSlots) {
  TemporaryFolder folder;
  std::size_t most_at_once = 0;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan& plan) {
    const Timeline timeline = testing::sample_timeline(plan, 3);
    writer.add_repeat(run, {.repeat = 0, .makespan_ns = timeline.makespan_ns()}, plan, timeline, {});
    for (std::size_t i = 0; i < plan.ops.size(); ++i) {
      if (plan.ops[i].rank != 0 || plan.post_of(plan.ops[i]).lane != 1) continue;
      std::size_t at_once = 0;  // events that hold the moment at which op i is under way for the first nanosecond
      for (std::size_t j = 0; j < plan.ops.size(); ++j)
        at_once += plan.ops[j].rank == 0 && plan.post_of(plan.ops[j]).lane == 1 &&
                   timeline.ops[j].post_ns <= timeline.ops[i].post_ns &&
                   timeline.ops[j].end_ns > timeline.ops[i].post_ns;
      most_at_once = std::max(most_at_once, at_once);
    }
  });
  std::size_t slots = 0, events = 0;
  for (const Stream& stream : reader.events().streams()) {
    EXPECT_FALSE(stream.overlapping);
    slots += stream.rank == 0 && stream.lane == 1;
    std::int64_t last_end_ns = 0;
    for (const SpanEvent& e : reader.events().spans(stream.stream_id)) {
      EXPECT_GE(e.begin_ns, last_end_ns);
      last_end_ns = e.end_ns;
      ++events;
    }
  }
  EXPECT_EQ(events, sample_plan().ops.size());
  EXPECT_GT(most_at_once, 1u);
  EXPECT_EQ(slots, most_at_once);
}

TEST(Events, TransfersCarryBytesAndPeers) {
  TemporaryFolder folder;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan& plan) {
    RunProvenance provenance;
    provenance.network = Source::kModelled;
    writer.add_repeat(run, {.repeat = 0}, plan, testing::sample_timeline(plan, 1), provenance);
  });
  const QueryResult sent = reader.query(
      "SELECT rank, sum(bytes) FROM event WHERE category = 'transfer' AND modelled = 1 GROUP BY rank ORDER BY rank");
  const std::vector<std::int64_t> expected = bytes_sent(sample_plan());
  ASSERT_EQ(sent.rows.size(), expected.size());
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    EXPECT_EQ(sent.rows[rank][1], std::to_string(expected[rank])) << rank;
  EXPECT_EQ(reader.query("SELECT count(*) FROM event WHERE category = 'attend' AND modelled = 1").rows[0][0], "0");
  EXPECT_EQ(reader.query("SELECT count(*) FROM plan_op p JOIN event e USING (op_id) WHERE p.name != e.name").rows[0][0],
            "0");
}

TEST(Events, MoreThanSixtyFourAtOnceAreMarkedOverlapping) {
  TemporaryFolder folder;
  const int kOps = 70;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId, const Plan& plan) {
    Plan wide = plan;  // one rank with one lane of compute on which everything runs at once
    wide.ops.assign(kOps, plan.ops.front());
    for (Op& op : wide.ops) op.deps = op.messages = {};
    Timeline timeline;
    for (int i = 0; i < kOps; ++i) timeline.ops.push_back({i, i, 1000 + i});
    RunRecord run;
    run.strategy_id = StrategyId{1};
    run.layer = 1;
    run.plan_id = writer.add_plan(wide);
    writer.add_repeat(writer.add_run(run), {.repeat = 0}, wide, timeline, {});
  });
  const std::vector<Stream> streams = reader.events().streams();
  ASSERT_EQ(streams.size(), 65u);
  EXPECT_TRUE(streams.back().overlapping);
  EXPECT_EQ(reader.events().spans(streams.back().stream_id).size(), 6u);
}

}  // namespace
}  // namespace spscope
