// Tracks, slots, names and the ledger.
#include "backend/record/events.h"
#include "backend/store/chunk/event_writer.h"

#include <map>

#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/embedded_schema.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::sample_plan;
using testing::TemporaryFolder;
using Rows = std::vector<std::vector<std::optional<std::string>>>;

// A store with one run and whatever `fill` adds to its events.
template <typename Fill>
StoreReader store_of(const TemporaryFolder& folder, Fill&& fill) {
  StoreWriter writer(folder / "events.db");
  StrategyRecord strategy;
  strategy.workload_id = writer.add_workload({});
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
  const auto holds = [&](std::int64_t begin_ns, std::int64_t end_ns) {
    return window.holds({.begin_ns = begin_ns, .end_ns = end_ns});
  };
  EXPECT_TRUE(holds(5, 11) && holds(19, 30) && holds(0, kNeverEnded) && holds(10, 10));
  EXPECT_FALSE(holds(5, 10) || holds(20, 30) || holds(20, 20) || holds(9, 9));
}

TEST(Events, RecordsRoundTripAndWindowsSelect) {
  TemporaryFolder folder;
  std::vector<SpanEvent> spans;
  CollectiveEvent collective;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    EventWriter& events = writer.events();
    const TrackId compute = events.track(1, 0, 0), transfer = events.track(1, 1, 0);
    EXPECT_EQ(events.track(1, 0, 0), compute);
    const NameId name = events.name("attend");
    EXPECT_EQ(events.name("attend"), name);
    EXPECT_EQ(events.name(""), 0u);
    spans = {{10, 20, 3, name, event_flags(EventCategory::kAttend, 2)},
             {20, 20, -1, 0, 0},
             {25, kNeverEnded, 4, name, event_flags(EventCategory::kLocal) | kEventUnfinished | kEventModelled}};
    events.append(run, compute, spans);
    const std::vector<int> ranks = {1, 3};
    collective = {.span = {5, 30, 7, events.name("exchange kv"), event_flags(EventCategory::kTransfer)},
                  .entry_ns = 5,
                  .transfer_begin_ns = 9,
                  .transfer_end_ns = 30,
                  .sequence = 2,
                  .bytes = 4096,
                  .communicator = events.communicator(1, ranks),
                  .peer = 3};
    events.append(run, transfer, std::span<const CollectiveEvent>(&collective, 1));
    EXPECT_EQ(events.last_end_ns(), 30);
  });
  const std::vector<Track> tracks = reader.events().tracks();
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0], (Track{tracks[0].track_id, 1, 0, 0, false}));
  EXPECT_EQ(reader.events().spans(tracks[0].track_id), spans);
  EXPECT_EQ(reader.events().spans(RunId{1}, tracks[0].track_id, {20, 25}), std::vector<SpanEvent>{spans[1]});
  EXPECT_TRUE(reader.events().spans(RunId{2}, tracks[0].track_id).empty());
  EXPECT_EQ(reader.events().collectives(RunId{1}, tracks[1].track_id), std::vector<CollectiveEvent>{collective});
  EXPECT_TRUE(reader.events().collectives(RunId{1}, tracks[0].track_id).empty());
  EXPECT_EQ(reader.events().name(spans[0].name), "attend");
  EXPECT_EQ(reader.events().name(0), "");
  EXPECT_EQ(reader.query("SELECT ranks FROM communicator").rows[0][0], "1 3");
}

TEST(Events, WorkRoundTripsWithItsDetails) {
  TemporaryFolder folder;
  const WorkDetail launch = {.grid = {8, 4, 2},
                             .block = {128, 2, 1},
                             .registers_per_thread = 40,
                             .static_shared_bytes = 512,
                             .dynamic_shared_bytes = 49152,
                             .device = 1,
                             .context = 3,
                             .stream = 7};
  const WorkDetail copy = {.copy_kind = 10,
                           .source_kind = 3,
                           .target_kind = 2,
                           .source_device = 1,
                           .target_device = 0,
                           .device = 1,
                           .context = 3,
                           .stream = 9};
  const WorkDetail wait = {.synchronization_kind = 3};
  std::vector<WorkEvent> work;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    EventWriter& events = writer.events();
    const TrackId stream = events.add_track({.rank = 1, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
    const WorkDetailId first = events.detail(launch);
    EXPECT_EQ(events.detail(launch), first);
    EXPECT_EQ(events.detail({}), 0u);
    const WorkDetailId second = events.detail(copy);
    work = {{{10, 20, 3, events.name("gemm"), event_flags(EventCategory::kKernel)}, 0, 71, first},
            {{20, 26, -1, 0, event_flags(EventCategory::kCopy)}, 4096, 72, second},
            {{30, 90, -1, 0, event_flags(EventCategory::kSynchronize)}, 0, 5, events.detail(wait)},
            {{90, 91, -1, 0, event_flags(EventCategory::kOverhead)}, 0, 0, 0}};
    events.append(run, stream, work);
  });
  const TrackId stream = reader.events().tracks().at(0).track_id;
  EXPECT_EQ(reader.events().work(stream), work);
  EXPECT_EQ(reader.events().work(stream, {15, 21}), (std::vector<WorkEvent>{work[0], work[1]}));
  EXPECT_EQ(reader.events().spans(stream, {15, 21}), (std::vector<SpanEvent>{work[0].span, work[1].span}));
  EXPECT_EQ(reader.events().work_detail(work[0].detail), launch);
  EXPECT_EQ(reader.events().work_detail(work[1].detail), copy);
  EXPECT_EQ(reader.events().work_detail(work[2].detail), wait);
  EXPECT_EQ(reader.events().work_detail(0), WorkDetail());
  EXPECT_EQ(testing::error_of([&] { reader.events().work_detail(9); }).code(), ErrorCode::kStoreCorrupt);
  const QueryResult shown = reader.query("SELECT bytes, correlation_id, work_detail_id, sequence FROM event");
  constexpr auto null = std::nullopt;
  EXPECT_EQ(
      shown.rows,
      (Rows{{null, "71", "1", null}, {"4096", "72", "2", null}, {null, "5", "3", null}, {null, null, null, null}}));
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
  for (const Track& track : reader.events().tracks()) {
    EXPECT_FALSE(track.overlapping);
    slots += track.rank == 0 && track.lane == 1;
    std::int64_t last_end_ns = 0;
    for (const SpanEvent& e : reader.events().spans(track.track_id)) {
      EXPECT_GE(e.begin_ns, last_end_ns);
      last_end_ns = e.end_ns;
      ++events;
    }
  }
  EXPECT_EQ(events, sample_plan().ops.size());
  EXPECT_GT(most_at_once, 1u);
  EXPECT_EQ(slots, most_at_once);
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
  const std::vector<Track> tracks = reader.events().tracks();
  ASSERT_EQ(tracks.size(), 65u);
  EXPECT_TRUE(tracks.back().overlapping);
  EXPECT_EQ(reader.events().spans(tracks.back().track_id).size(), 6u);
}

// Spans and collectives of one lane that take turns lie in two chunks, not in one for each event, and come back in
// order of time.
TEST(Events, KindsThatTakeTurnsShareATrack) {
  TemporaryFolder folder;
  constexpr int kEvents = 10'000;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    const TrackId track = writer.events().track(2, 0, 0);
    for (int i = 0; i < kEvents; ++i) {
      const SpanEvent span = {.begin_ns = 10 * i, .end_ns = 10 * i + i % 3, .op_id = i, .name = 0, .flags = 1};
      const CollectiveEvent collective = {.span = span, .entry_ns = 10 * i};
      if (i % 2 == 0)
        writer.events().append(run, track, std::span(&span, 1));
      else
        writer.events().append(run, track, std::span(&collective, 1));
    }
  });
  const TrackId track = reader.events().tracks()[0].track_id;
  const std::vector<SpanEvent> spans = reader.events().spans(track);
  ASSERT_EQ(spans.size(), std::size_t{kEvents});
  for (int i = 0; i < kEvents; ++i) ASSERT_EQ(spans[static_cast<std::size_t>(i)].op_id, i);
  EXPECT_EQ(reader.events().collectives(RunId{1}, track).size(), std::size_t{kEvents / 2});
  EXPECT_EQ(reader.query("SELECT count(*), max(count), max(seq) FROM chunk").rows, (Rows{{"4", "4096", "3"}}));
  EXPECT_EQ(reader.events().op_events(RunId{1}, 100, 200).size(), 11u);
  EXPECT_EQ(reader.events().op_events(RunId{1}, 0, kNeverEnded)[0].rank, 2);
}

// Every window of a track of several chunks against a scan of all its events.
TEST(Events, WindowsOverManyChunksHoldWhatAScanFinds) {
  TemporaryFolder folder;
  Rng rng(11);
  std::vector<SpanEvent> all;
  std::int64_t now = -50'000;
  for (int i = 0; i < 3 * kMaxChunkEvents; ++i) {
    const std::int64_t begin = now + rng.below(4);
    now = begin + rng.below(6);
    all.push_back({begin, now, i, 0, 0});
  }
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    writer.events().append(run, writer.events().track(0, 0, 0), std::span<const SpanEvent>(all));
  });
  const TrackId track = reader.events().tracks()[0].track_id;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t begin = -50'100 + rng.below(now + 50'200);
    const EventWindow window{begin, begin + rng.below(round % 2 == 0 ? 50 : 50'000)};
    std::vector<SpanEvent> expected;
    std::ranges::copy_if(all, std::back_inserter(expected), [&](const SpanEvent& e) { return window.holds(e); });
    ASSERT_EQ(reader.events().spans(RunId{1}, track, window), expected) << window.begin_ns << " " << window.end_ns;
  }
}

TEST(Events, FlushWritesChunksThatFollowWithoutGaps) {
  TemporaryFolder folder;
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
    const TrackId a = writer.events().track(0, 0, 0), b = writer.events().track(0, 1, 0);
    for (int i = 0; i < 5; ++i) {
      const SpanEvent event = {.begin_ns = i, .end_ns = i, .op_id = -1};
      writer.events().append(run, a, std::span(&event, 1));
      if (i % 2 == 0) writer.events().append(run, b, std::span(&event, 1));
      writer.checkpoint();
    }
    const std::vector<CounterSample> samples = {{5, 1.5}, {6, -2}, {9, 1e300}};
    writer.events().append(kNoRun, writer.events().add_track({.kind = TrackKind::kCounter, .name = "power"}),
                           std::span<const CounterSample>(samples));
    writer.events().count_dropped(b, 2);
    writer.events().count_unreadable(b, 3);
  });
  std::map<std::int64_t, std::int64_t> next;
  std::int64_t last_chunk = 0, events = 0;
  reader.events().for_each_chunk({}, [&](const StoredChunk& chunk) {
    EXPECT_GT(chunk.chunk_id, last_chunk);
    last_chunk = chunk.chunk_id;
    EXPECT_EQ(chunk.seq, next[static_cast<std::int64_t>(chunk.track_id)]++);
    events += chunk.header.count;
  });
  EXPECT_EQ(events, 5 + 3 + 3);
  EXPECT_EQ(next, (std::map<std::int64_t, std::int64_t>{{1, 5}, {2, 3}, {3, 1}}));
  int newer = 0;
  reader.events().for_each_chunk({.after_chunk_id = last_chunk - 2}, [&](const StoredChunk&) { ++newer; });
  EXPECT_EQ(newer, 2);
  EXPECT_EQ(reader.events().counters(TrackId{3}, {6, 9}), (std::vector<CounterSample>{{6, -2}}));
  EXPECT_EQ(reader.events().ledger()[1], (LedgerRecord{TrackId{2}, 8, 3, 2, 3, 0}));
}

// Ranks begin and end a pass at different times: an event belongs to the pass that its rank was in.
TEST(Timelines, ARepeatIsFoundByTheWindowsOfItsRanks) {
  const TemporaryFolder folder;
  // Op i of rank r in pass p: one nanosecond long. Rank 1 is in pass 1 while rank 0 is still in pass 0.
  static const auto begin_of = [](int rank, int pass) {
    return std::int64_t{100'000} * pass - 50'000 * rank + 500'000;
  };
  const auto for_each_op = [](const Plan& plan, int pass, auto&& take) {
    std::map<int, std::int64_t> ops_of_rank;
    for (std::size_t i = 0; i < plan.ops.size(); ++i) {
      const int rank = plan.ops[i].rank;
      take(i, rank, begin_of(rank, pass) + 10 * ops_of_rank[rank]++);
    }
  };
  const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan& plan) {
    for (int pass = 0; pass < 2; ++pass) {
      for_each_op(plan, pass, [&](std::size_t op, int rank, std::int64_t at) {
        const SpanEvent event = {.begin_ns = at, .end_ns = at + 1, .op_id = static_cast<OpId>(op)};
        writer.events().append(run, writer.events().track(rank, 0, 0), std::span(&event, 1));
      });
      for (int rank = 0; rank < plan.ranks; ++rank)
        writer.add_rank_repeat({run, pass, rank, begin_of(rank, pass), begin_of(rank, pass) + 99'000});
      const std::int64_t first_ns = begin_of(plan.ranks - 1, pass);
      writer.add_repeat(run, {pass, first_ns, begin_of(0, pass) + 99'000 - first_ns, true});
    }
  });
  const Plan plan = sample_plan();
  for (int pass = 0; pass < 2; ++pass) {
    const std::optional<Timeline> timeline = reader.timeline(RunId{1}, pass);
    ASSERT_TRUE(timeline);
    for_each_op(plan, pass, [&](std::size_t op, int, std::int64_t at) {
      const OpTimes& times = timeline->ops[op];
      at -= begin_of(plan.ranks - 1, pass);
      EXPECT_EQ(std::tuple(times.post_ns, times.begin_ns, times.end_ns), std::tuple(at, at, at + 1));
    });
  }
}

// What reading all timelines of a run costs grows with its repeats, and not with their square.
TEST(Timelines, TheRowsOfOneRepeatAreFoundByAnIndex) {
  Database db = Database::in_memory();
  db.execute(std::string(embedded_schema()));
  Statement plan(db, "EXPLAIN QUERY PLAN SELECT rank FROM rank_repeat WHERE run_id = 1 AND repeat = 2 ORDER BY rank");
  ASSERT_TRUE(plan.step());
  EXPECT_NE(plan.text(3).find("run_id=? AND repeat=?"), std::string::npos) << plan.text(3);
  EXPECT_FALSE(plan.step()) << "rows are sorted: " << plan.text(3);
}

TEST(Timelines, OneThatMissesEventsIsAbsent) {
  const Plan plan = sample_plan();
  for (const bool unfinished : {false, true}) {
    TemporaryFolder folder;
    const StoreReader reader = store_of(folder, [&](StoreWriter& writer, RunId run, const Plan&) {
      for (std::size_t i = unfinished ? 0 : 1; i < plan.ops.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        SpanEvent event = {.begin_ns = at, .end_ns = at, .op_id = static_cast<OpId>(i)};
        if (unfinished && i + 1 == plan.ops.size()) event.end_ns = kNeverEnded, event.flags = kEventUnfinished;
        writer.events().append(run, writer.events().track(0, 0, 0), std::span(&event, 1));
      }
      if (!unfinished) writer.events().count_dropped(writer.events().track(0, 0, 0), 1);
      writer.add_repeat(run, {0, 0, 1000, true});
    });
    EXPECT_FALSE(reader.timeline(RunId{1}, 0)) << unfinished;
  }
}

// A large plan and an imported mask are compressed; both come back, and neither is believed to be larger than it is.
TEST(Events, LargePlansAreStoredInParts) {
  TemporaryFolder folder;
  const Plan plan = sample_plan(256, "ring");
  ASSERT_GT(plan.ops.size(), 4096u);
  {
    StoreWriter writer(folder / "a.db");
    writer.add_plan(plan);
    writer.add_mask(testing::sample_mask(), "");
    writer.finish();
  }
  const std::string sound = testing::read_file(folder / "a.db");
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(plan_hash(reader.plan(PlanId{1})), plan_hash(plan));
  EXPECT_EQ(reader.mask_bits(StoredMaskId{1})->hash(), testing::sample_mask().hash());
  EXPECT_EQ(reader.query("SELECT codec, length(data) FROM plan").rows, (Rows{{"2", "0"}}));
  EXPECT_EQ(reader.query("SELECT count(*) FROM plan_op").rows, (Rows{{"0"}}));
  EXPECT_EQ(
      reader.query("SELECT max(length(data)) <= 1 << 20, min(part), max(part) + 1 - count(*) FROM plan_part").rows,
      (Rows{{"1", "0", "0"}}));
  // A frame that says it holds 1 GiB, and one that says it holds 64 KiB: RFC 8878, 3.1.1.
  const std::string gibibyte = "x'28b52ffda00000004001000000'", too_much = "x'28b52ffda00000010001000000'";
  for (const std::string& sql :
       {std::string("DELETE FROM plan_part WHERE part = 0"), std::string("UPDATE plan_part SET data = x'00'"),
        std::string("UPDATE plan_part SET data = substr(data, 1, length(data) - 9)"),
        "UPDATE plan_part SET data = " + gibibyte, "UPDATE plan_part SET data = " + too_much,
        "UPDATE mask SET data = " + gibibyte, std::string("UPDATE mask SET data = x'00'"),
        std::string("UPDATE mask SET codec = 1")}) {
    testing::write_file(folder / "a.db", sound);
    testing::tamper(folder / "a.db", sql);
    const StoreReader damaged(folder / "a.db");
    const bool of_plan = sql.find("plan_part") != std::string::npos;
    const Error error =
        testing::error_of([&] { of_plan ? void(damaged.plan(PlanId{1})) : void(damaged.mask_bits(StoredMaskId{1})); });
    EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt) << sql;
  }
}

}  // namespace
}  // namespace spscope
