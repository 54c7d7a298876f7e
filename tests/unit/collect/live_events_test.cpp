// Events of a run that goes on: read while shards are written step by step, they are in the end those of the merged
// file.
#include "backend/store/live_events.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "backend/store/store_reader.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

using testing::RankShard;

class LiveEventsOfRun : public testing::TwoRanks {
 protected:
  // What a finished file has, by rank, equals what was seen live.
  static void expect_same(const LiveEvents& live, const std::string& path) {
    const StoreReader file(path);
    std::size_t tracks = 0;
    for (const Track& track : file.events().tracks())
      for (const LiveTrack* seen : live.tracks()) {
        if (seen->track.rank != track.rank || seen->track.lane != track.lane) continue;
        ++tracks;
        std::vector<SpanEvent> wanted = file.events().spans(track.track_id), found = seen->spans;
        for (const CollectiveEvent& event : seen->collectives) found.push_back(event.span);
        std::ranges::stable_sort(found, {}, [](const SpanEvent& e) { return std::pair(e.begin_ns, e.end_ns); });
        ASSERT_EQ(found.size(), wanted.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(live.name(found[i].name), file.events().name(wanted[i].name));
          found[i].name = wanted[i].name;
          ASSERT_EQ(found[i], wanted[i]) << "event " << i << " of rank " << *track.rank;
        }
        EXPECT_EQ(seen->span_runs.size(), seen->spans.size());
        EXPECT_EQ(seen->collective_runs.size(), seen->collectives.size());
      }
    EXPECT_EQ(tracks, file.events().tracks().size());
  }
  void write_rank(RankShard& shard, int rank, std::size_t first, std::size_t count) const {
    const auto& all = events_[rank];
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
    shard.add_events(run_, TrackId{7}, std::vector<SpanEvent>(from, from + static_cast<std::ptrdiff_t>(count)), 700);
  }
  void begin_rank(RankShard& shard, int rank) const {
    shard.add_track({TrackId{7}, rank, 0, 0, false});
    shard.add_string(1, rank == 0 ? "attend" : "norm");
  }
};

TEST_F(LiveEventsOfRun, EqualThoseOfTheMergedFileInTheEnd) {
  LiveEvents live;
  const std::vector<std::string> head = {folder_ / "a.head.db"};
  EXPECT_EQ(live.poll(head), 0);
  EXPECT_EQ(live.poll(std::vector<std::string>{folder_ / "missing.db"}), 0);
  {
    RankShard first(shard_of(0), 0);
    begin_rank(first, 0);
    first.add_string(2, "norm");
    write_rank(first, 0, 0, 2'100);
    EXPECT_EQ(live.poll(shards()), 0);  // nothing is committed; the other shard is not there
    first.commit();
    EXPECT_EQ(live.poll(shards()), 2'100);
    EXPECT_EQ(live.poll(shards()), 0);
    {
      RankShard second(shard_of(1), 1);
      begin_rank(second, 1);
      second.add_string(2, "attend");
      const TrackId lane{9};
      second.add_track({lane, 1, 1, 0, false});
      second.add_communicator(3, 1, "0,1");
      std::vector<CollectiveEvent> transfers;
      for (std::int64_t i = 0; i < 900; ++i)
        transfers.push_back({.span = {.begin_ns = kRawZero + 10 * i, .end_ns = kRawZero + 10 * i + 9, .name = 1},
                             .entry_ns = kRawZero + 10 * i,
                             .transfer_begin_ns = kRawZero + 10 * i + i % 9,
                             .transfer_end_ns = kRawZero + 10 * i + 9,
                             .communicator = 3});
      second.add_events(run_, lane, transfers, 350);
      write_rank(second, 1, 0, 5'000);
      second.commit();
      EXPECT_EQ(live.poll(shards()), 5'900);
    }
    write_rank(first, 0, 2'100, 7'900);
    first.commit();
    EXPECT_EQ(live.poll(shards()), 7'900);
  }
  ASSERT_EQ(live.tracks().size(), 3u);
  testing::merge(folder_ / "out.db", shards());
  expect_same(live, folder_ / "out.db");
  // Merged and removed: what was read stays.
  for (const std::string& path : shards()) std::filesystem::remove(path);
  EXPECT_EQ(live.poll({}), 0);
  expect_same(live, folder_ / "out.db");
}

// Also where events of the older clock are no longer held.
TEST_F(LiveEventsOfRun, TimesMoveWhenTheClockIsKnownBetter) {
  for (const std::int64_t most : {100'000, 800}) {
    // Another head, that does not know the clocks yet.
    for (const std::string& old : shards()) std::filesystem::remove(old);
    StoreWriter head = StoreWriter::shard(folder_ / "a.head.db", testing::head_shard(), {.tool_version = "head"});
    head.checkpoint();
    RankShard shard(shard_of(0), 0);
    begin_rank(shard, 0);
    write_rank(shard, 0, 0, 5'000);
    shard.commit();
    LiveEvents live(most);
    const auto track = [&]() -> const LiveTrack& { return *live.tracks().at(0); };
    EXPECT_EQ(live.poll(shards()), 5'000);
    EXPECT_EQ(live.clock_changes(), 0);
    EXPECT_EQ(track().first_ns, 0) << "its first moment stands for the zero of the run";
    const ClockFit better{.raw_zero_ns = kRawZero - 4'000};
    head.add_rank_clock({0, better});
    head.checkpoint();
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(live.poll(shards()), 0);
      EXPECT_EQ(live.clock_changes(), 1);
    }
    EXPECT_EQ(track().first_ns, run_clock(better, events_[0].front().begin_ns));
    EXPECT_EQ(track().num_events(), 5'000);
    EXPECT_LE(std::ssize(track().spans), most);
    std::int64_t begun = 0;
    for (const LodBucket& bucket : track().older.buckets) begun += bucket.count;
    EXPECT_EQ(begun, track().older_events);
    if (most > 5'000) {
      EXPECT_EQ(track().spans.at(0).begin_ns, track().first_ns);
    }
  }
}

// Spans and work of one track lie in chunks that overlap in time: none is moved for that.
TEST_F(LiveEventsOfRun, WorkAndSpansOfOneTrackKeepTheirTimes) {
  RankShard shard(shard_of(0), 0);
  shard.add_track({.track_id = TrackId{3}, .rank = 0, .kind = TrackKind::kHostThread, .name = "main"});
  std::vector<SpanEvent> ranges;
  std::vector<WorkEvent> calls;
  for (std::int64_t i = 0; i < 400; ++i) {
    ranges.push_back({.begin_ns = kRawZero + 20 * i, .end_ns = kRawZero + 20 * i + 8});
    calls.push_back({{.begin_ns = kRawZero + 20 * i + 10, .end_ns = kRawZero + 20 * i + 18}, 0, 7, 0});
  }
  shard.add_events(kNoRun, TrackId{3}, ranges, 100);
  shard.add_events(kNoRun, TrackId{3}, calls, 100);
  shard.commit();
  const std::vector<std::string> both = {folder_ / "a.head.db", shard_of(0)};
  LiveEvents live;
  EXPECT_EQ(live.poll(both), 800);
  std::int64_t clamped = 0;
  for (const SpanEvent& event : live.tracks().at(0)->spans) clamped += (event.flags & kEventClamped) != 0;
  EXPECT_EQ(clamped, 0);
  EXPECT_EQ(live.tracks().at(0)->spans.size(), 800u);
  testing::merge(folder_ / "out.db", both);
  EXPECT_EQ(StoreReader(folder_ / "out.db").query("SELECT sum(clamped), count(*) FROM event").rows[0],
            (std::vector<std::optional<std::string>>{"0", "800"}));
}

// A question of minutes ends when another thread no longer wants the answer, and the reader answers the next one.
TEST_F(LiveEventsOfRun, AQuestionIsCancelledFromAnotherThread) {
  write_ranks();
  testing::merge(folder_ / "out.db", shards());
  StoreReader store(folder_ / "out.db");
  const CancelToken token;
  store.cancel_by(token);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    token.cancel();
  });
  const Error error = testing::error_of(
      [&] { store.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"); });
  EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  store.cancel_by(CancelToken());
  EXPECT_EQ(store.query("SELECT count(*) FROM event").rows.at(0).at(0), "15000");
}

TEST_F(LiveEventsOfRun, EveryLongReadLooksAtTheToken) {
  write_ranks();
  testing::merge(folder_ / "out.db", shards());
  StoreReader store(folder_ / "out.db");
  const StoredPyramid pyramid = store.lod().pyramids().at(0);
  const std::vector<std::function<void()>> reads = {
      [&] { store.events().spans(TrackId{1}); },
      [&] { store.events().op_events(run_, 0, kNeverEnded); },
      [&] { store.name_statistics({.name = "attend"}); },
      [&] { store.find_name("attend"); },
      [&] { store.query("SELECT 1"); },
      [&] { store.query("SELECT sum(count) FROM event_stats"); },
      [&] { store.lod().strip(pyramid, pyramid.base_shift, 0, 100); },
      [&] { store.lod().row_strips(pyramid.base_shift + 3, 0, 100); },
      [&] { store.timeline(run_, 0); },
  };
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const CancelToken token;
    store.cancel_by(token);
    reads[i]();  // nobody cancelled
    token.cancel();
    EXPECT_EQ(testing::error_of(reads[i]).code(), ErrorCode::kCancelled) << "read " << i;
  }
}

}  // namespace
}  // namespace spscope
