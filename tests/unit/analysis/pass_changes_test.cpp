#include "backend/analysis/pass_changes.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/layer_result.h"

namespace spscope {
namespace {

using testing::pass;

TEST(PassChanges, AreOfPassesOfWhichBothHaveTimes) {
  StrategyResult from, to;
  from.by_layer = {pass(0, 0, 100), pass(1, 0, 200), pass(0, 1, 50), pass(1, 1, {}), pass(2, 1, 0)};
  to.by_layer = {pass(2, 1, 7), pass(0, 1, 25), pass(0, 0, 130), pass(1, 1, 9), pass(1, 0, {})};
  const std::vector<PassChange> changes = pass_changes(from, to);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].from_ns, 100);
  EXPECT_EQ(changes[0].change_ns, 30);
  EXPECT_DOUBLE_EQ(*changes[0].ratio, 1.3);
  EXPECT_EQ(changes[1].denoise_step, 1);
  EXPECT_EQ(changes[1].change_ns, -25);
  EXPECT_DOUBLE_EQ(*changes[1].ratio, 0.5);
  EXPECT_EQ(changes[2].layer, 2);
  EXPECT_EQ(changes[2].change_ns, 7);
  EXPECT_FALSE(changes[2].ratio);
}

}  // namespace
}  // namespace spscope
