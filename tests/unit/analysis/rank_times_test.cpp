#include "backend/analysis/rank_times.h"

#include <gtest/gtest.h>

#include "backend/schedule/imbalance.h"
#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

using testing::two_rank_request, testing::two_rank_ring, testing::two_rank_times;
using Times = std::vector<std::int64_t>;

// By the table of two_ranks.h:
//   rank 0 computes 6 + 30 + 10 = 46. It waits for rank 1 from 0 to 10, of which 6 hide behind compute: late peer 4.
//   Data moves from 10 to 50 and nothing is computed: wire 40. From 90 to 120 it is done: other 30. Sum 120.
//   rank 1 computes 20 + 60 + 10 = 90. It has no late partner. Of the transfer 10 to 50, 20 hide: wire 20. Other: 0
//   to 10.
TEST(RankTimes, DivideTheMakespanOfEachRank) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const Timeline timeline = two_rank_times(plan);
  ASSERT_EQ(timeline.makespan_ns(), 120);
  const RankTimes times = rank_times(plan, timeline);
  EXPECT_EQ(times.compute_ns, (Times{46, 90}));
  EXPECT_EQ(times.wait_late_peer_ns, (Times{4, 0}));
  EXPECT_EQ(times.wire_ns, (Times{40, 20}));
  EXPECT_EQ(times.other_ns, (Times{30, 10}));
  EXPECT_EQ(times.exposed_comm_ns, (Times{44, 20}));
}

TEST(RankTimes, AttentionIsTheAttendsAlone) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  EXPECT_EQ(attention_times(plan, two_rank_times(plan)), (Times{36, 80}));
}

// Totals 5 and 3, mean 4: plain 5/4. Steps 4,1 and 1,2: barrier (4 + 2)/4. Rank 1 needs only that rank 0 has posted, so
// rank 0 ends at 5, rank 1 at 3: coupled 5/4.
TEST(Ratios, OfTwoRanksAreThoseOfTheDocs) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const ImbalanceRatios ratios = imbalance_ratios(plan, attended_area(plan));
  EXPECT_DOUBLE_EQ(ratios.plain, 1.25);
  EXPECT_DOUBLE_EQ(ratios.barrier, 1.5);
  EXPECT_DOUBLE_EQ(ratios.coupled, 1.25);
}

}  // namespace
}  // namespace spscope
