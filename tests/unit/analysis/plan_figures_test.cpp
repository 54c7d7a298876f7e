#include "backend/analysis/plan_figures.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

// Two tokens of k and of v, one head of 2 channels in bf16, go from each rank to the other: 2 x 2 x 2 = 8 bytes each.
TEST(PlanFigures, BytesOfATwoRankRing) {
  const Request request = testing::two_rank_request();
  const Plan plan = testing::two_rank_ring(request);
  const PlanVolume volume = plan_volume(plan, request);
  EXPECT_EQ(volume.sent, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.received, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.sent_intra_node, (std::vector<std::int64_t>{16, 16}));
  EXPECT_EQ(volume.by_tensor.at("k"), 16);
  EXPECT_EQ(volume.by_tensor.at("v"), 16);
  EXPECT_EQ(volume.by_tensor.at("q") + volume.by_tensor.at("o") + volume.by_tensor.at("text"), 0);
  EXPECT_EQ(volume.messages, 2);
}

TEST(PlanFigures, RanksOfDifferentNodesSendBetweenNodes) {
  Request request = testing::two_rank_request();
  request.ranks_per_node = 1;
  const PlanVolume volume = plan_volume(testing::two_rank_ring(request), request);
  EXPECT_EQ(volume.sent_intra_node, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(volume.sent_inter_node, (std::vector<std::int64_t>{16, 16}));
}

TEST(PlanFigures, TilesAreThoseOfTheMask) {
  const Request request = testing::two_rank_request();
  const PlanTiles tiles = plan_tiles(testing::two_rank_ring(request), request);
  EXPECT_DOUBLE_EQ(tiles.computed, 8);
  EXPECT_DOUBLE_EQ(tiles.redundant, 0);
  EXPECT_EQ(tiles.by_rank, (std::vector<double>{5, 3}));
}

}  // namespace
}  // namespace spscope
