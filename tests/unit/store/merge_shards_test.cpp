#include "backend/store/merge/merge_shards.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "backend/base/clock_drift.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/merge/merge_tables.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;
using testing::merge;
using testing::MergedFile;
using testing::RankShard;
using testing::TwoRanks;

TEST(MergeTables, EveryTableOfTheSchemaHasARule) {
  Database fresh = Database::in_memory();
  fresh.execute(std::string(embedded_schema()));
  std::set<std::string> tables, ruled;
  Statement rows(fresh, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  while (rows.step()) tables.insert(rows.text(0));
  for (const MergedTable& table : merged_tables()) ruled.emplace(table.name);
  EXPECT_EQ(ruled, tables);
}

TEST_F(TwoRanks, EventsAreThoseOfTheShardsOnTheRunClock) {
  write_ranks();
  const MergeReport report = merge(folder_ / "out.db", shards());
  EXPECT_EQ(report.events, 15'000);
  EXPECT_EQ(report.shards, 3);
  EXPECT_EQ(report.lost + report.dropped + report.unreadable + report.unfinished, 0);
  MergedFile file(folder_ / "out.db");
  const char* const names[2][2] = {{"attend", "norm"}, {"norm", "attend"}};
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<SpanEvent> merged = file.events(rank, 0);
    ASSERT_EQ(merged.size(), events_[rank].size());
    for (std::size_t i = 0; i < merged.size(); ++i) {
      const SpanEvent& raw = events_[rank][i];
      ASSERT_LE(std::abs(merged[i].begin_ns - run_clock(fits_[rank], raw.begin_ns)), rank);
      ASSERT_LE(std::abs(merged[i].end_ns - run_clock(fits_[rank], raw.end_ns)), rank);
      ASSERT_EQ(merged[i].op_id, raw.op_id);
      ASSERT_EQ(merged[i].flags, raw.flags);
      ASSERT_EQ(file.name(merged[i].name), names[rank][raw.name - 1]);
      ASSERT_TRUE(i == 0 || merged[i].begin_ns >= merged[i - 1].end_ns);
    }
  }
  EXPECT_EQ(file.number("SELECT count(*) FROM chunk"), 3 + 2);
  EXPECT_EQ(file.number("SELECT count(*) FROM string"), 3);
  EXPECT_EQ(file.number("SELECT sum(stored) FROM ledger"), 15'000);
}

TEST_F(TwoRanks, TablesOfTheHeadArriveWhole) {
  write_ranks();
  merge(folder_ / "out.db", shards(), {.tool_version = "merger"});
  MergedFile file(folder_ / "out.db");
  MergedFile head(Database::open_shard(folder_ / "a.head.db"));
  for (const MergedTable& table : merged_tables()) {
    if (table.rule != MergeRule::kHead || table.name == "repeat") continue;
    EXPECT_EQ(file.rows(std::string(table.name)), head.rows(std::string(table.name))) << table.name;
  }
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'tool_version'"), "merger");
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'shard'"), "no row");
  // The window of the pass is that of its ranks, on the run clock.
  const std::int64_t begin_ns =
      std::min(run_clock(fits_[0], events_[0].front().begin_ns), run_clock(fits_[1], events_[1].front().begin_ns));
  EXPECT_LE(std::abs(file.number("SELECT begin_ns FROM repeat") - begin_ns), 1);
  EXPECT_EQ(file.number("SELECT makespan_ns FROM repeat"), 900);
  const std::int64_t end_ns = run_clock(fits_[1], events_[1].back().end_ns);
  EXPECT_LE(std::abs(file.number("SELECT end_ns FROM rank_repeat WHERE rank = 1") - end_ns), 1);
  EXPECT_EQ(file.number("SELECT bound_ns FROM clock_fit WHERE rank = 1"), 900);
}

TEST_F(TwoRanks, TheNowPageSaysWhatWasRunningAndWhatIsLost) {
  write_ranks();
  const std::int64_t last_ns = events_[1].back().end_ns;
  {
    NowPageWriter page(folder_ / "a.rank-1.now", this_process(1, 1, 2, {}));
    page.line(1, 0).publish(
        {.state = LaneState::kComputing, .op = 3, .run = run_, .begin_ns = last_ns + 40, .sent = 5'030, .dropped = 10});
    page.line(1, 1).publish({.state = LaneState::kWaitingForPeer, .op = 1, .run = run_, .begin_ns = last_ns + 50});
    NowPageWriter told(folder_ / "a.rank-0.now", this_process(0, 1, 1, {}));
    const SpanEvent& last = events_[0].back();
    told.line(0, 0).publish({.state = LaneState::kComputing,
                             .op = static_cast<OpId>(last.op_id),
                             .run = run_,
                             .begin_ns = last.begin_ns,
                             .sent = 10'000});
  }
  const MergeReport report = merge(folder_ / "out.db", shards());
  EXPECT_EQ(report.unfinished, 2);
  EXPECT_EQ(report.dropped, 10);
  EXPECT_EQ(report.lost, 20);
  MergedFile file(folder_ / "out.db");
  EXPECT_EQ(file.events(0, 0).size(), 10'000u);
  const SpanEvent stuck = file.events(1, 0).back();
  EXPECT_LE(std::abs(stuck.begin_ns - run_clock(fits_[1], last_ns + 40)), 1);
  EXPECT_EQ(stuck.end_ns, kNeverEnded);
  EXPECT_EQ(stuck.op_id, 3);
  EXPECT_NE(stuck.flags & kEventUnfinished, 0u);
  EXPECT_EQ(file.name(stuck.name), file.text("SELECT name FROM plan_op WHERE op_id = 3"));
  EXPECT_EQ(file.events(1, 1).size(), 1u);
  EXPECT_EQ(file.number("SELECT count(*) FROM ledger WHERE sent != stored + dropped + unreadable + lost"), 0);
  EXPECT_EQ(file.number("SELECT sum(stored) FROM ledger"), file.number("SELECT sum(count) FROM chunk"));
}

TEST_F(TwoRanks, CollectivesKeepTheirFieldsAndCommunicators) {
  RankShard shard(shard_of(0), 0);
  shard.add_track({TrackId{2}, 0, 1, 0, false});
  shard.add_communicator(9, 1, "0 1");
  shard.add_communicator(4, 1, "0 1 2 3");
  std::vector<CollectiveEvent> events;
  for (int i = 0; i < 5'000; ++i) {
    const std::int64_t at = kRawZero + 10 * i;
    events.push_back({.span = {.begin_ns = at, .end_ns = at + 9, .op_id = i, .flags = 4},
                      .entry_ns = at,
                      .transfer_begin_ns = at + 3,
                      .transfer_end_ns = at + 9,
                      .sequence = i,
                      .bytes = 64,
                      .communicator = i % 2 == 0 ? 9u : 4u,
                      .peer = i % 2 == 0 ? 1 : -1});
  }
  shard.add_events(run_, TrackId{2}, events, 1'000);
  shard.commit();
  merge(folder_ / "out.db", {folder_ / "a.head.db", shard_of(0)});
  MergedFile file(folder_ / "out.db");
  const std::vector<CollectiveEvent> merged = file.events<CollectiveEvent>(0, 1);
  ASSERT_EQ(merged.size(), events.size());
  for (std::size_t i = 0; i < merged.size(); ++i) {
    ASSERT_EQ(merged[i].transfer_begin_ns, events[i].transfer_begin_ns - kRawZero);
    ASSERT_EQ(merged[i].entry_ns, events[i].entry_ns - kRawZero);
    ASSERT_EQ(merged[i].sequence, events[i].sequence);
    ASSERT_EQ(
        file.text("SELECT ranks FROM communicator WHERE communicator_id = " + std::to_string(merged[i].communicator)),
        i % 2 == 0 ? "0 1" : "0 1 2 3");
  }
}

// Details have other numbers in each shard, and each once in the file.
TEST_F(TwoRanks, WorkKeepsItsFieldsAndDetails) {
  const StoreReader reader(write_merged());
  MergedFile file(folder_ / "out.db");
  EXPECT_EQ(file.number("SELECT sum(count) FROM chunk"), 15'000 + 4'000);
  EXPECT_EQ(file.number("SELECT count(*) FROM work_detail"), 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto merged = file.events_of<WorkEvent>("s.kind = 1 AND s.rank = " + std::to_string(rank));
    ASSERT_EQ(merged.size(), work_[rank].size());
    for (std::size_t i = 0; i < merged.size(); ++i) {
      const WorkEvent& now = merged[i];
      const WorkEvent& then = work_[rank][i];
      ASSERT_LE(std::abs(now.span.begin_ns - run_clock(fits_[rank], then.span.begin_ns)), 1);
      ASSERT_EQ(now.bytes, then.bytes);
      ASSERT_EQ(now.correlation, then.correlation);
      ASSERT_EQ(now.span.op_id, then.span.op_id);
      ASSERT_EQ(file.name(now.span.name), "gemm");
      ASSERT_EQ(now.detail, merged[i % 2].detail);
    }
    for (const std::size_t i : {0u, 1u}) EXPECT_EQ(reader.events().work_detail(merged[i].detail), kDetails[i]);
  }
  EXPECT_EQ(reader.lod().pyramids().size(), 6u) << "one of each lane, rank and stream";
}

TEST(MergeUnfinished, AnEventThatNeverEndedMovesNoneBehindIt) {
  const TemporaryFolder folder;
  const RunId run = testing::write_head(folder / "a.head.db", {{0, {}}});
  const std::vector<SpanEvent> events = {{.begin_ns = 10, .end_ns = 20, .op_id = 0},
                                         {.begin_ns = 30, .end_ns = kNeverEnded, .op_id = 1, .flags = kEventUnfinished},
                                         {.begin_ns = 30, .end_ns = 90, .op_id = 2}};
  {
    RankShard shard(folder / "a.rank-0.db", 0);
    shard.add_track({TrackId{1}, 0, 0, 0, false});
    shard.add_events(run, TrackId{1}, events, 10);
    shard.commit();
  }
  merge(folder / "out.db", {folder / "a.head.db", folder / "a.rank-0.db"});
  MergedFile file(folder / "out.db");
  EXPECT_EQ(file.events(0, 0), events);
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'events_clamped'"), "0");
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'recorded_until_ns'"), "90");
}

// A collector's clock, an hour away, is that of all its tracks; without it, a track that names a rank is on that
// rank's.
TEST_F(TwoRanks, TracksThatNameARankAreOnTheClockOfTheirShard) {
  write_ranks();
  const ClockFit own{.raw_zero_ns = 3'600'000'000'000, .offset_ns = 700};
  const SpanEvent span = {.begin_ns = own.raw_zero_ns + 100, .end_ns = own.raw_zero_ns + 160};
  for (const bool gives_clock : {true, false}) {
    write_trace({{.rank = 1, .kind = TrackKind::kDeviceStream, .name = "copies"}}, span, gives_clock ? &own : nullptr);
    const std::string out = folder_ / (gives_clock ? "fitted.db" : "plain.db");
    merge(out, shards_and({trace_}));
    std::filesystem::remove(trace_);
    MergedFile file(out);
    const std::vector<SpanEvent> merged = file.events_of("s.kind = 1 AND s.rank = 1");
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_LE(std::abs(merged[0].begin_ns - run_clock(gives_clock ? own : fits_[1], span.begin_ns)), 1) << gives_clock;
    EXPECT_LE(std::abs(file.events(1, 0).front().begin_ns - run_clock(fits_[1], events_[1].front().begin_ns)), 1);
  }
}

// Ranks that no head has a clock of begin at their own first event, whatever a collector's clock says.
TEST_F(TwoRanks, TheClockOfACollectorIsNotThatOfARank) {
  write_ranks();
  const ClockFit clock{.raw_zero_ns = 5};
  write_trace({{.rank = 1, .kind = TrackKind::kDeviceStream, .name = "copies"}}, {.begin_ns = 5, .end_ns = 9}, &clock);
  merge(folder_ / "out.db", {shard_of(0), shard_of(1), trace_}, {.tolerant = true});
  MergedFile file(folder_ / "out.db");
  const std::int64_t zero_ns = std::min(events_[0].front().begin_ns, events_[1].front().begin_ns);
  EXPECT_EQ(file.events(1, 0).front().begin_ns, events_[1].front().begin_ns - zero_ns);
  EXPECT_EQ(file.events_of("s.kind = 1").front().begin_ns, 0);
}

// The now page counts the events of lanes alone. Tracks of a rank are in order of their kinds.
TEST_F(TwoRanks, StreamsOfARankComeBehindItsLanesAndAreNotCountedWithThem) {
  write_ranks();
  write_trace({{.rank = 0, .kind = TrackKind::kHostThread, .name = "loader"},
               {.rank = 0, .kind = TrackKind::kDeviceStream, .name = "copies"}},
              {.begin_ns = kRawZero, .end_ns = kRawZero});
  {
    NowPageWriter page(folder_ / "a.rank-0.now", this_process(0, 1, 1, {}));
    page.line(0, 0).publish({.state = LaneState::kIdle, .sent = 10'007});
  }
  EXPECT_EQ(merge(folder_ / "out.db", shards_and({trace_})).lost, 7);
  MergedFile file(folder_ / "out.db");
  EXPECT_EQ(file.text("SELECT group_concat(kind, ' ') FROM (SELECT kind FROM track WHERE rank = 0 ORDER BY track_id)"),
            "0 1 2");
}

TEST_F(TwoRanks, AShardInWhichNothingWasRecordedIsLeftOut) {
  write_ranks();
  std::vector<std::string> all = shards();
  for (const char* name : {"a.rank-2.db", "a.rank-3.db"}) {
    all.push_back(folder_ / name);
    testing::write_file(all.back(), "");
  }
  testing::tamper(all.back(), "PRAGMA application_id = 0x53505343; PRAGMA user_version = 1; PRAGMA journal_mode = WAL");
  const MergeReport report = merge(folder_ / "out.db", all, {.tolerant = true});
  EXPECT_EQ(report.events, 15'000);
  EXPECT_EQ(report.shards, 3);
  ASSERT_EQ(report.notes.size(), 2u);
  for (const std::string& note : report.notes)
    EXPECT_THAT(note, AllOf(HasSubstr("before anything was recorded in it"), HasSubstr("it is left out")));
  for (const std::string& alone : {all[3], all[4]}) {
    const Error error = error_of([&] { merge(folder_ / "none.db", {alone}, {.tolerant = true}); });
    EXPECT_THAT(error.what(), AllOf(HasSubstr(alone), HasSubstr("before anything was recorded in it")));
    EXPECT_THAT(error.hint(), HasSubstr("remove it and run again"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none.db"));
  }
}

// Where a double no longer holds every nanosecond, rounding takes neighbours out of order.
TEST_F(TwoRanks, TimesThatAClockTurnsAroundAreReadInOrder) {
  const ClockFit fit{.raw_zero_ns = std::numeric_limits<std::int64_t>::min(),
                     .offset_ns = std::numeric_limits<std::int64_t>::min() / 2,
                     .drift = -kMaxClockDrift};
  std::int64_t first_ns = std::int64_t{1} << 62;
  while (run_time_ns(fit, first_ns) <= run_time_ns(fit, first_ns + 1)) ++first_ns;
  for (SpanEvent& event : events_[1]) event.begin_ns = event.end_ns = first_ns;
  events_[1].resize(2);
  events_[1][1].begin_ns = events_[1][1].end_ns = first_ns + 1;
  write_ranks();
  run_ = testing::write_head(folder_ / "b.head.db", {{0, fits_[0]}, {1, fit}});
  merge(folder_ / "out.db", {folder_ / "b.head.db", shard_of(0), shard_of(1)});
  MergedFile file(folder_ / "out.db");
  ASSERT_EQ(file.events(1, 0).size(), 2u);
  EXPECT_EQ(file.events(1, 0)[0].begin_ns, run_time_ns(fit, first_ns));
  EXPECT_EQ(file.number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'events_clamped'"), 1);
}

TEST_F(TwoRanks, WithoutAHeadEventsAreKept) {
  write_ranks();
  const std::vector<std::string> ranks = {shard_of(0), shard_of(1)};
  EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", ranks); }).code(), ErrorCode::kStoreForeign);
  const MergeReport report = merge(folder_ / "out.db", ranks, {.tolerant = true});
  EXPECT_EQ(report.events, 15'000);
  EXPECT_THAT(report.notes, Contains(HasSubstr("1 runs have events and no row")));
  // SQL reads them too, though nothing says what was run.
  const StoreReader reader(folder_ / "out.db");
  EXPECT_EQ(reader.query("SELECT count(*) FROM event WHERE run_id IS NULL").rows[0][0], "15000");
  EXPECT_EQ(reader.query("SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM strategy)").rows[0][0], "0");
}

TEST_F(TwoRanks, BadNamesAreRepairedAndCountedThoughTheirProcessIsKilled) {
  write_ranks();
  RankShard killed(shard_of(2), 2);  // committed, and never finished
  EventWriter& events = killed.writer().events();
  EXPECT_NE(events.name("at\xfftend"), 0u);
  EXPECT_EQ(events.name("at\xfftend"), events.name("at\xef\xbf\xbdtend"));
  killed.writer().checkpoint();
  events.name(std::string(100'000, 'x'));
  killed.writer().checkpoint();
  merge(folder_ / "out.db", {folder_ / "a.head.db", shard_of(0), shard_of(1), shard_of(2)}, {.tolerant = true});
  MergedFile file(folder_ / "out.db");
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'strings_repaired'"), "2");
  EXPECT_EQ(file.text("SELECT value FROM meta WHERE key = 'strings_cut'"), "1");
  EXPECT_EQ(file.number("SELECT max(length(value)) FROM string"), 65'536);
}

TEST_F(TwoRanks, ShardsOfTwoRunsOrTwiceTheSameAreRefused) {
  write_ranks();
  const auto refusal = [&](const std::vector<std::string>& given, bool tolerant) {
    return error_of([&] { merge(folder_ / "out.db", given, {.tolerant = tolerant}); }).code();
  };
  EXPECT_EQ(refusal({folder_ / "a.head.db", shard_of(0), shard_of(0)}, false), ErrorCode::kStoreForeign);
  testing::tamper(shard_of(1), "UPDATE meta SET value = 'ffff' WHERE key = 'collection'");
  for (const bool tolerant : {false, true}) EXPECT_EQ(refusal(shards(), tolerant), ErrorCode::kStoreForeign);
}

// A device stream without a rank could be any other of that name: only the shard says that it is the same.
TEST_F(TwoRanks, AShardThatIsGivenTwiceIsReadOnce) {
  write_ranks();
  write_trace({{.kind = TrackKind::kDeviceStream, .name = "stream 7", .device = "gpu 0"}},
              {.begin_ns = kRawZero, .end_ns = kRawZero + 5});
  const std::vector<std::string> once = shards_and({trace_});
  std::vector<std::string> twice = once;
  std::filesystem::create_symlink(trace_, folder_ / "link.db");
  for (const std::string& path : {trace_, shard_of(0), folder_ / "a.head.db"}) {
    std::filesystem::copy_file(path, path + ".copy");
    twice.push_back(path + ".copy");
    EXPECT_EQ(error_of([&] {
                merge(folder_ / "out.db", shards_and({trace_, path + ".copy"}));
              }).code(),
              ErrorCode::kStoreForeign);
  }
  twice.push_back(folder_ / "link.db");
  const MergeReport wanted = merge(folder_ / "once.db", once, {.tolerant = true});
  EXPECT_EQ(wanted.events, 15'001);
  EXPECT_TRUE(wanted.notes.empty());
  const MergeReport report = merge(folder_ / "twice.db", twice, {.tolerant = true});
  EXPECT_EQ(report.events, wanted.events);
  EXPECT_EQ(report.shards, wanted.shards);
  EXPECT_EQ(report.notes.size(), 4u);
  EXPECT_THAT(report.notes, ::testing::Each(HasSubstr("are the same shard; it is read once")));
  MergedFile file(folder_ / "twice.db");
  EXPECT_EQ(file.number("SELECT count(*) FROM track"), 3);
  EXPECT_EQ(file.number("SELECT count(*) FROM meta WHERE key = 'shard_id'"), 0);
}

TEST_F(TwoRanks, AnInterruptedMergeLeavesNothingAndCanBeginAgain) {
  write_ranks();
  std::atomic<bool> interrupt = false;
  MergeOptions options{.interrupt = &interrupt};
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 15'000);
    interrupt = done > 4'000;
  };
  EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", shards(), options); }).code(), ErrorCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.db"));
  EXPECT_EQ(merge(folder_ / "out.db", shards()).events, 15'000);
}

}  // namespace
}  // namespace spscope
