// The clocks of ranks on two hosts reach the file: what a merge makes of the raw times of both lies on the clock of
// rank 0, within the bound that it states.
#include "backend/launch/rank_clocks.h"

#include <gtest/gtest.h>

#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/launch/partial_world.h"

namespace spscope {
namespace {

constexpr std::int64_t kZero = 5'000'000;           // of the run, on the clock of rank 0
constexpr std::int64_t kAhead = 3'600'000'000'000;  // of the other host's clock: an hour
constexpr std::int64_t kTrip = 1000;                // of a message, one way

class TwoHosts final : public testing::PartialWorld {
 public:
  explicit TwoHosts(int measured_by) : PartialWorld(0) {
    clocks_.resize(4);
    if (measured_by == 0) return;
    // The two clocks go equally fast. Every second exchange is slow on its way back.
    ClockOfRank& clock = clocks_[2];
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::int64_t answered = kZero + i * 10'000'000;
      clock.samples.push_back({answered - kTrip + kAhead, answered, answered + kTrip * (1 + i % 2) + kAhead});
    }
    clock.fit = fit_clock(clock.samples);
    clock.measured_by = measured_by;
    clocks_[3] = {measured_by, {}, clock.fit};
  }
  int size() const override { return 4; }
  const std::vector<ClockOfRank>& clocks() const override { return clocks_; }

 private:
  std::vector<ClockOfRank> clocks_;
};

class RankClocks : public ::testing::Test {
 protected:
  ShardRecord shard(ShardKind kind, int rank) const {
    return {kind, kind == ShardKind::kHead ? ShardClock::kRun : ShardClock::kRaw, rank, std::string(32, 'a')};
  }
  // One event of a rank, at a raw time of its host.
  void write_rank(int rank, std::int64_t begin_ns) {
    shards_.push_back(folder_ / ("run.rank-" + std::to_string(rank) + ".db"));
    StoreWriter writer = StoreWriter::shard(shards_.back(), shard(ShardKind::kRank, rank));
    const TrackId track = writer.events().track(rank, 0, 0);
    const SpanEvent event{begin_ns, begin_ns + 100, 0, writer.events().name("op"), 0};
    writer.events().append(RunId{1}, track, {&event, 1});
    writer.add_rank_process({rank, rank < 2 ? "a" : "b", rank / 2, rank < 2 ? "boot a" : "boot b", 10 + rank, ""});
    writer.finish();
  }
  TemporaryFolder folder_;
  std::vector<std::string> shards_;
};

TEST_F(RankClocks, OfTwoHostsMeetInTheFile) {
  const TwoHosts world(2);
  shards_.push_back(folder_ / "run.head.db");
  {
    StoreWriter head = StoreWriter::shard(shards_[0], shard(ShardKind::kHead, -1));
    store_clocks(head, world, kZero);
    store_clocks(head, world, kZero);  // takes the place of what was stored
    head.finish();
  }
  const std::int64_t moment = kZero + 50'000'000;  // the same for all four
  for (int rank = 0; rank < 4; ++rank) write_rank(rank, rank < 2 ? moment : moment + kAhead);
  {
    OutputFile out(folder_ / "out.db", false);
    EXPECT_EQ(merge_shards(out, shards_, {}).events, 4);
  }
  const StoreReader reader(folder_ / "out.db");
  const std::vector<RankClock> clocks = reader.rank_clocks();
  ASSERT_EQ(clocks.size(), 4u);
  for (int rank = 0; rank < 4; ++rank) {
    const ClockFit& fit = clocks[static_cast<std::size_t>(rank)].fit;
    EXPECT_EQ(fit.bound_ns == 0, rank < 2);
    EXPECT_EQ(fit.exchanges == 0, rank < 2);
    EXPECT_LE(fit.bound_ns, 3 * kTrip);  // that is no more than the slowest round trip
    EXPECT_NEAR(static_cast<double>(run_time_ns(fit, rank < 2 ? moment : moment + kAhead)),
                static_cast<double>(moment - kZero), static_cast<double>(fit.bound_ns));
    EXPECT_EQ(reader.clock_samples(rank).empty(), rank != 2) << "only the rank that made exchanges has some";
  }
  for (const Track& track : reader.events().tracks()) {
    const std::vector<SpanEvent> events = reader.events().spans(track.track_id);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].begin_ns, run_time_ns(clocks[static_cast<std::size_t>(*track.rank)].fit,
                                              *track.rank < 2 ? moment : moment + kAhead));
  }
}

TEST_F(RankClocks, OfOneHostAreNotStored) {
  const TwoHosts world(0);
  StoreWriter head = StoreWriter::shard(folder_ / "run.head.db", shard(ShardKind::kHead, -1));
  store_clocks(head, world, kZero);
  head.finish();
  EXPECT_TRUE(StoreReader::shard(folder_ / "run.head.db").rank_clocks().empty());
}

}  // namespace
}  // namespace spscope
