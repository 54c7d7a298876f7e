// Every figure of the ring of two_ranks.h, worked out by hand.
#include "tests/unit/analysis/two_ranks.h"

#include <gtest/gtest.h>

#include "backend/analysis/name_means.h"
#include "backend/analysis/pass_picture.h"
#include "backend/analysis/plan_figures.h"
#include "backend/analysis/rank_times.h"
#include "backend/schedule/imbalance.h"

namespace spscope {
namespace {

using Times = std::vector<std::int64_t>;

class TwoRankRing : public ::testing::Test {
 protected:
  Request request_ = testing::two_rank_request();
  const Plan plan_ = testing::two_rank_ring(request_);
  const Timeline timeline_ = testing::two_rank_times(plan_);
};

// By the table of two_ranks.h:
//   rank 0 computes 6 + 30 + 10 = 46. It waits for rank 1 from 0 to 10, of which 6 hide behind compute: late peer 4.
//   Data moves from 10 to 50 and nothing is computed: wire 40. From 90 to 120 it is done: other 30. Sum 120.
//   rank 1 computes 20 + 60 + 10 = 90. It has no late partner. Of the transfer 10 to 50, 20 hide: wire 20. Other: 0
//   to 10.
TEST_F(TwoRankRing, TimesDivideTheMakespanOfEachRank) {
  ASSERT_EQ(timeline_.makespan_ns(), 120);
  const RankTimes times = rank_times(plan_, timeline_);
  EXPECT_EQ(times.compute_ns, (Times{46, 90}));
  EXPECT_EQ(times.wait_late_peer_ns, (Times{4, 0}));
  EXPECT_EQ(times.wire_ns, (Times{40, 20}));
  EXPECT_EQ(times.other_ns, (Times{30, 10}));
  EXPECT_EQ(times.exposed_comm_ns, (Times{44, 20}));
}

TEST_F(TwoRankRing, AttentionIsTheAttendsAlone) { EXPECT_EQ(attention_times(plan_, timeline_), (Times{36, 80})); }

// Totals 5 and 3, mean 4: plain 5/4. Steps 4,1 and 1,2: barrier (4 + 2)/4. Rank 1 needs only that rank 0 has posted, so
// rank 0 ends at 5, rank 1 at 3: coupled 5/4.
TEST_F(TwoRankRing, RatiosAreThoseOfTheDocs) {
  const ImbalanceRatios ratios = imbalance_ratios(plan_, attended_area(plan_));
  EXPECT_DOUBLE_EQ(ratios.plain, 1.25);
  EXPECT_DOUBLE_EQ(ratios.barrier, 1.5);
  EXPECT_DOUBLE_EQ(ratios.coupled, 1.25);
}

// By the table of two_ranks.h.
TEST_F(TwoRankRing, SpansDivideTheTimeOfARank) {
  const auto spans = activities(plan_, timeline_);
  using enum TimeColumn;
  EXPECT_EQ(spans[0],
            (std::vector<ActivitySpan>{
                {0, 6, kCompute}, {6, 10, kLatePeer}, {10, 50, kWire}, {50, 90, kCompute}, {90, 120, kOther}}));
  EXPECT_EQ(spans[1],
            (std::vector<ActivitySpan>{{0, 10, kOther}, {10, 30, kCompute}, {30, 50, kWire}, {50, 120, kCompute}}));
}

TEST(PassPicture, ACoarserRowTellsWhatTakesMostOfEachBucket) {
  using enum TimeColumn;
  const std::vector<ActivitySpan> spans = {{0, 4, kCompute},   {4, 5, kWire},   {5, 10, kCompute}, {10, 13, kWire},
                                           {13, 14, kCompute}, {14, 20, kWire}, {20, 30, kOther}};
  EXPECT_EQ(coarser(spans, 3), (std::vector<ActivitySpan>{{0, 10, kCompute}, {10, 20, kWire}, {20, 30, kOther}}));
  EXPECT_EQ(coarser(spans, 7), spans);
}

// The second attend of rank 1 takes 8 ns longer: 4 a rank. Keys move for 40 ns on either rank; the wait before is none
// of it.
TEST_F(TwoRankRing, ChangesByNameAreOfMeansOverRanksWithoutWaits) {
  const std::vector<NameChange> changes = name_changes(plan_, timeline_, plan_, testing::two_rank_times(plan_, 8));
  ASSERT_EQ(changes.size(), 3u);
  const auto expect = [&](std::size_t i, const char* name, double from, double to) {
    EXPECT_EQ(changes[i].name, name);
    EXPECT_EQ(changes[i].from_ns, from) << name;
    EXPECT_EQ(changes[i].to_ns, to) << name;
    EXPECT_EQ(changes[i].change_ns, to - from) << name;
  };
  expect(0, "attend", (6 + 30 + 20 + 60) / 2.0, (6 + 30 + 20 + 68) / 2.0);
  expect(1, "exchange kv", 40, 40);
  expect(2, "finish", 10, 10);
}

// Two tokens of k and of v, one head of 2 channels in bf16, go from each rank to the other: 2 x 2 x 2 = 8 bytes each.
TEST_F(TwoRankRing, SendsKeysAndValues) {
  const PlanVolume volume = plan_volume(plan_, request_);
  EXPECT_EQ(volume.sent, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.received, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.sent_intra_node, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.by_tensor.at("k"), 16);
  EXPECT_EQ(volume.by_tensor.at("v"), 16);
  EXPECT_EQ(volume.by_tensor.at("q") + volume.by_tensor.at("o") + volume.by_tensor.at("text"), 0);
  EXPECT_EQ(volume.messages, 2);
}

TEST_F(TwoRankRing, OverNodesSendsBetweenNodes) {
  request_.ranks_per_node = 1;
  const PlanVolume volume = plan_volume(testing::two_rank_ring(request_), request_);
  EXPECT_EQ(volume.sent_intra_node, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(volume.sent_inter_node, (std::vector<std::int64_t>{16, 16}));
}

TEST_F(TwoRankRing, TilesAreThoseOfTheMask) {
  const PlanTiles tiles = plan_tiles(plan_, request_);
  EXPECT_DOUBLE_EQ(tiles.computed, 8);
  EXPECT_DOUBLE_EQ(tiles.redundant, 0);
  EXPECT_EQ(tiles.by_rank, (std::vector<double>{5, 3}));
}

}  // namespace
}  // namespace spscope
