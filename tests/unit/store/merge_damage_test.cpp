// What a merge makes of damaged shards: an error, or, where damage is tolerated, a file whose parts agree.
#include "backend/store/merge/merge_damage.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

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

class MergeDamage : public testing::TwoRanks {};

TEST_F(MergeDamage, DamageIsAnErrorUnlessItIsTolerated) {
  write_ranks();
  testing::tamper(shard_of(0), "UPDATE chunk SET data = zeroblob(length(data)) WHERE seq = 3");
  EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", shards()); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.db"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.db.tmp"));
  const MergeReport report = merge(folder_ / "out.db", shards(), {.tolerant = true});
  EXPECT_EQ(report.unreadable, 700);
  EXPECT_EQ(report.events, 15'000 - 700);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("700 events of rank 0 lane 0"), std::string::npos) << report.notes[0];
  MergedFile file(folder_ / "out.db");
  EXPECT_EQ(file.number("SELECT unreadable FROM ledger JOIN track USING (track_id) WHERE rank = 0"), 700);
  EXPECT_EQ(file.number("SELECT count(*) FROM incident"), 1);
  std::vector<SpanEvent> kept = events_[0];
  kept.erase(kept.begin() + 2'100, kept.begin() + 2'800);
  const std::vector<SpanEvent> merged = file.events(0, 0);
  ASSERT_EQ(merged.size(), kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(merged[i].begin_ns, kept[i].begin_ns - kRawZero);
}

// Of work, a chunk that cannot be read is counted, and events whose detail is lost stay without one.
TEST_F(MergeDamage, LostDetailsTakeNoEventWithThem) {
  write_ranks();
  write_streams();
  const std::vector<std::string> all = shards_and({stream_of(0), stream_of(1)});
  testing::tamper(stream_of(0), "UPDATE chunk SET data = zeroblob(length(data)) WHERE seq = 1");
  testing::tamper(stream_of(1),
                  "PRAGMA ignore_check_constraints = ON; UPDATE work_detail SET grid_x = 'lost' "
                  "WHERE work_detail_id = 6");
  EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", all); }).code(), ErrorCode::kStoreCorrupt);
  const MergeReport report = merge(folder_ / "out.db", all, {.tolerant = true});
  EXPECT_EQ(report.unreadable, 700);
  EXPECT_EQ(report.events, 15'000 + 4'000 - 700);
  EXPECT_THAT(report.notes, Contains(HasSubstr("work_detail")));
  const auto kept = MergedFile(folder_ / "out.db").events_of<WorkEvent>("s.kind = 1 AND s.rank = 1");
  ASSERT_EQ(kept.size(), 2'000u);
  for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(kept[i].detail == 0, i % 2 == 0);
}

// Whatever bytes of a shard are lost, what is kept is true: each event is one that was there, and the ledger balances.
TEST_F(MergeDamage, RandomDamageNeverMakesEventsUp) {
  write_ranks();
  const std::string whole = testing::read_file(shard_of(0));
  std::set<std::pair<std::int64_t, std::int64_t>> known;
  for (const SpanEvent& event : events_[0]) known.emplace(event.begin_ns - kRawZero, event.end_ns - kRawZero);
  Rng rng(11);
  int kept = 0;
  for (int round = 0; round < 30; ++round) {
    std::string damaged = whole;
    for (std::int64_t i = 1 + rng.below(40); i > 0; --i)
      damaged[static_cast<std::size_t>(rng.below(std::ssize(damaged)))] = static_cast<char>(rng.below(256));
    if (round % 5 == 0) damaged.resize(static_cast<std::size_t>(rng.below(std::ssize(damaged))));
    if (round % 7 == 0) std::fill_n(damaged.begin() + rng.below(std::ssize(damaged) / 2), damaged.size() / 3, '\0');
    testing::write_file(shard_of(0), damaged);
    const std::string out = folder_ / ("out-" + std::to_string(round) + ".db");
    const MergeReport report = merge(out, shards(), {.tolerant = true});
    EXPECT_GE(report.events, 5'000);
    MergedFile file(out);
    EXPECT_EQ(file.text("PRAGMA integrity_check"), "ok");
    EXPECT_EQ(file.number("SELECT count(*) FROM ledger WHERE sent != stored + dropped + unreadable + lost"), 0);
    EXPECT_EQ(file.number("SELECT sum(stored) FROM ledger"), file.number("SELECT sum(count) FROM chunk"));
    const std::vector<SpanEvent> events = file.events(0, 0);
    kept += !events.empty();
    for (const SpanEvent& event : events) ASSERT_TRUE(known.contains({event.begin_ns, event.end_ns})) << round;
  }
  EXPECT_GT(kept, 3);
}

// Whatever table loses a row, no row refers to it any more.
TEST_F(MergeDamage, RowsThatReferToALostOneGoWithIt) {
  for (const char* damage :
       {"workload SET tokens", "strategy SET mode", "plan SET ranks", "mask SET heads", "run SET verdict"}) {
    SCOPED_TRACE(damage);
    testing::write_sample(folder_ / "in.db", {.force = true});
    testing::tamper(folder_ / "in.db",
                    std::string("PRAGMA ignore_check_constraints = ON; UPDATE ") + damage + " = 'lost'");
    OutputFile out(folder_ / "out.db", true);
    const MergeReport report = merge_shards(out, std::vector<std::string>{folder_ / "in.db"}, {.tolerant = true});
    EXPECT_FALSE(report.notes.empty());
    MergedFile file(folder_ / "out.db");
    Statement orphans(file.db, "PRAGMA foreign_key_check");
    while (orphans.step()) ADD_FAILURE() << "a row of " << orphans.text(0) << " has no " << orphans.text(2);
  }
}

// A rank with one chunk: what turns its first and last event around turns around all that is known of its times.
TEST_F(MergeDamage, AClockThatNoHostHasIsDamage) {
  for (std::vector<SpanEvent>& events : events_) events.resize(3);
  write_ranks();
  int round = 0;
  for (const char* damage : {"drift = -5.0", "drift = 0.000501", "drift = 9e999", "drift = -9e999", "exchanges = -1"}) {
    const std::string name = std::to_string(round++);
    testing::tamper(folder_ / "a.head.db", std::string("UPDATE clock_fit SET drift = 0.0, exchanges = 1; "
                                                       "UPDATE clock_fit SET ") +
                                               damage + " WHERE rank = 1");
    EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", shards()); }).code(), ErrorCode::kStoreCorrupt) << damage;
    const std::string out = folder_ / ("out-" + name + ".db");
    const MergeReport report = merge(out, shards(), {.tolerant = true});
    EXPECT_EQ(report.events, 6) << damage;
    ASSERT_EQ(report.notes.size(), 1u) << damage;
    EXPECT_THAT(report.notes[0], AllOf(HasSubstr("clock_fit"), HasSubstr("1 invalid row")));
    // On the zero of the other rank, whose host it shares.
    EXPECT_EQ(MergedFile(out).events(1, 0)[0].begin_ns, events_[1][0].begin_ns - kRawZero) << damage;
  }
}

// The rows of a shard whose process was killed lie in its log; the file itself has a page or two.
TEST_F(MergeDamage, ChunksInTheLogOfAShardAreSalvaged) {
  write_ranks();
  std::filesystem::remove(shard_of(0));
  RankShard shard(shard_of(0), 0);
  shard.add_track({TrackId{7}, 0, 0, 0, false});
  shard.add_events(run_, TrackId{7}, events_[0], 10);
  shard.commit();
  ASSERT_LT(std::filesystem::file_size(shard_of(0)) / 64, 1000u);
  testing::tamper(shard_of(0), "PRAGMA ignore_check_constraints = ON; UPDATE chunk SET count = 'x' WHERE chunk_id = 5");
  const MergeReport report = merge(folder_ / "out.db", shards(), {.tolerant = true});
  EXPECT_EQ(report.events, 10'000 - 10 + 5'000);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_THAT(report.notes.back(), AllOf(HasSubstr("table chunk"), HasSubstr("1 invalid row")));
}

// A shard that does not say what it is, or lacks a table, is left out; alone it is refused with the reason. So are the
// events of a track whose row cannot be read, and what a file has in place of our tables is never read, also when the
// list of tables calls it a table.
TEST_F(MergeDamage, WhatCannotBeReadOfAShardIsLeftOut) {
  const std::string row = "(track_id, kind, name, process, device, rank, lane, slot, overlapping)";
  const std::string endless = "DROP TABLE track; CREATE VIEW track" + row +
                              " AS WITH RECURSIVE n(i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n) "
                              "SELECT i, 0, '', NULL, NULL, 0, 0, 0, 0 FROM n; ";
  const std::string rtree = "DROP TABLE track; CREATE VIRTUAL TABLE track USING rtree_i32" + row +
                            "; INSERT INTO track VALUES (7, 0, 0, 0, 0, 0, 0, 0, 0); ";
  const std::string list = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET ";
  struct Damage {
    std::string sql;
    bool whole_shard;  // is left out
  };
  std::vector<Damage> all = {{"UPDATE meta SET value = 'x' WHERE key = 'min_reader'", true},
                             {"DROP TABLE incident", true},
                             {"PRAGMA ignore_check_constraints = ON; UPDATE track SET lane = -1", false},
                             {endless, false},
                             {endless + list + "type = 'table', rootpage = 3 WHERE name = 'track'", false}};
  if (sqlite3_compileoption_used("ENABLE_RTREE") != 0) {
    all.push_back({rtree, false});
    all.push_back({rtree + list + "rootpage = 3 WHERE name = 'track'", false});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].sql);
    for (const std::string& old : {shard_of(0), shard_of(0) + "-wal", shard_of(1)}) std::filesystem::remove(old);
    write_ranks();
    testing::tamper(shard_of(0), all[i].sql);
    const MergeReport report = merge(folder_ / ("out-" + std::to_string(i) + ".db"), shards(), {.tolerant = true});
    EXPECT_EQ(report.events, 5'000);
    EXPECT_THAT(report.notes, Contains(HasSubstr(shard_of(0))));
    if (!all[i].whole_shard) continue;
    EXPECT_EQ(report.shards, 2);
    EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr(shard_of(0)), HasSubstr("it is left out"))));
    const Error alone = error_of([&] { merge(folder_ / "none.db", {shard_of(0)}, {.tolerant = true}); });
    EXPECT_EQ(alone.code(), ErrorCode::kStoreCorrupt);
    EXPECT_THAT(alone.what(), HasSubstr(shard_of(0)));
  }
}

TEST_F(MergeDamage, AMissingChunkIsDamage) {
  write_ranks();
  testing::tamper(shard_of(1), "DELETE FROM chunk WHERE seq = 2");
  EXPECT_EQ(error_of([&] { merge(folder_ / "out.db", shards()); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_EQ(merge(folder_ / "out.db", shards(), {.tolerant = true}).unreadable, 700);
}

}  // namespace
}  // namespace spscope
