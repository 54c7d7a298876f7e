#include "backend/analysis/pass_picture.h"

#include <gtest/gtest.h>

#include "backend/analysis/rank_times.h"
#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

using testing::two_rank_request, testing::two_rank_ring, testing::two_rank_times;

// By the table of two_ranks.h.
TEST(PassPicture, DividesTheTimeOfARankIntoSpans) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const auto spans = activities(plan, two_rank_times(plan));
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

}  // namespace
}  // namespace spscope
