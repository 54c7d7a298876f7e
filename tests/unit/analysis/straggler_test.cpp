#include "backend/analysis/straggler.h"

#include <gtest/gtest.h>

#include <numeric>

#include "backend/analysis/explanation.h"
#include "backend/analysis/rank_times.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

// Means: compute 100, attention 80, tiles 8, so 10 ns a tile. Rank 0 has 12 tiles, which takes 40 ns more at that
// speed; it attends for 140 ns, 20 more; its other compute of 10 is 10 below the mean.
TEST(Stragglers, ExcessIsTilesSpeedAndOther) {
  const std::vector<std::int64_t> compute_ns = {150, 80, 70}, attention_ns = {140, 50, 50};
  const std::vector<double> tiles = {12, 6, 6};
  const std::vector<RankWait> waits = {
      {1, 0, "exchange kv", 1, 30}, {2, 0, "exchange kv", 1, 20}, {2, 0, "end", 0, 40}, {0, 2, "exchange kv", 1, 5}};
  const std::vector<Straggler> list = stragglers({compute_ns, attention_ns, tiles}, waits);
  ASSERT_EQ(list.size(), 1u);
  const Straggler& s = list.front();
  EXPECT_EQ(s.rank, 0);
  EXPECT_EQ(s.excess_ns, 50);
  EXPECT_EQ(s.more_tiles_ns, 40);
  EXPECT_EQ(s.slower_tiles_ns, 20);
  EXPECT_EQ(s.other_ns, -10);
  EXPECT_EQ(s.held_up, (std::vector<HeldUp>{{2, 60}, {1, 30}}));
  EXPECT_EQ(s.held_up_ns, 90);
}

// Words and signs say the same: what is below 0 is less, by fewer or by faster ones.
TEST(Stragglers, ExcessInWords) {
  Straggler s;
  s.more_tiles_ns = 1'200'000;
  s.slower_tiles_ns = -36'500;
  EXPECT_EQ(excess_text(s), "1.20 ms by more tiles, 36.5 us less by faster ones");
  s.more_tiles_ns = -36'500;
  s.slower_tiles_ns = 1'200'000;
  s.other_ns = -5'000;
  EXPECT_EQ(excess_text(s), "36.5 us less by fewer tiles, 1.20 ms by slower ones, 5.00 us less by other compute");
  s.more_tiles_ns = 0;
  EXPECT_EQ(excess_text(s), "1.20 ms by slower tiles, 5.00 us less by other compute");
}

// 100 posts of 12.5 us are 96 % of 1.3 ms. The host of no GPU, one that is done early and one that a queue holds up say
// nothing.
TEST(HostBound, IsSaidWhereTheHostPostsAsLongAsThePassLasts) {
  std::vector<RankUsage> ranks = {{.rank = 0, .host_post_ns = 1000}, {.rank = 1}, {.rank = 2, .host_post_ns = 12'500}};
  EXPECT_EQ(
      host_bound_text(ranks, 100, 1'300'000),
      "The host is the bottleneck: it takes 1.25 ms to post the work of rank 2, 12.5 us for each of 100 posts, and "
      "the layer pass takes 1.30 ms.");
  EXPECT_EQ(host_bound_text(ranks, 100, 1'400'000) + host_bound_text(ranks, 300, 1'300'000), "");
  EXPECT_EQ(host_bound_text(std::span(ranks).subspan(1, 1), 100, 1) + host_bound_text({}, 1, 1), "");
}

TEST(Stragglers, AddUpAndAreNoneWithoutCompute) {
  EXPECT_TRUE(stragglers({}, {}).empty());
  Rng rng(4);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::int64_t> compute_ns, attention_ns;
    std::vector<double> tiles;
    for (std::int64_t ranks = 1 + rng.below(9); ranks > 0; --ranks) {
      attention_ns.push_back(rng.below(1000));
      compute_ns.push_back(attention_ns.back() + rng.below(500));
      tiles.push_back(static_cast<double>(rng.below(50)) * rng.uniform());
    }
    const auto total = std::accumulate(compute_ns.begin(), compute_ns.end(), std::int64_t{0});
    for (const Straggler& s : stragglers({compute_ns, attention_ns, tiles}, {})) {
      EXPECT_GT(s.excess_ns, 0);
      EXPECT_EQ(s.more_tiles_ns + s.slower_tiles_ns + s.other_ns, s.excess_ns);
      EXPECT_EQ(s.excess_ns, s.compute_ns - total / static_cast<std::int64_t>(compute_ns.size()));
    }
  }
}

// The waits for partners of each rank are its late peer, of every plan of the library.
TEST(Waits, AddUpToTheLatePeerOfEachRank) {
  Rng rng(9);
  for (const testing::PlanCase& plan_case : testing::plan_cases()) {
    const Request request = testing::layer_request(plan_case.shape, plan_case.kind);
    const Plan plan = testing::build(plan_case.plan, request);
    const Timeline timeline =
        schedule(plan, testing::random_durations(plan, rng), testing::random_network(plan.ranks, rng));
    const PassDetail detail = pass_detail(plan, timeline, {}, {timeline.makespan_ns(), 0});
    std::vector<std::int64_t> of_rank(static_cast<std::size_t>(plan.ranks), 0);
    for (const RankWait& wait : joined_waits(detail.waits))
      of_rank[static_cast<std::size_t>(wait.rank)] += wait.wait_ns;
    EXPECT_EQ(of_rank, rank_times(plan, timeline).wait_late_peer_ns) << plan_case.name;
  }
}

}  // namespace
}  // namespace spscope
