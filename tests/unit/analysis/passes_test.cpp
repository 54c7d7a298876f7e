// What is read from the layer passes of strategies: the slowest one, and how each changed.
#include <gtest/gtest.h>

#include <vector>

#include "backend/analysis/pass_changes.h"
#include "backend/analysis/slowest_pass.h"

namespace spscope {
namespace {

LayerResult pass(int layer, int denoise_step, std::optional<std::int64_t> makespan_ns) {
  LayerResult result;
  result.layer = layer, result.denoise_step = denoise_step, result.makespan_ns = makespan_ns;
  return result;
}

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

// The longest single time is that of layer 0, the longest sum that of layer 1.
TEST(SlowestPass, IsOfAllStrategiesTogether) {
  StrategyResult a, b;
  a.by_layer = {pass(0, 0, 100), pass(1, 0, 80), pass(0, 1, 10)};
  b.by_layer = {pass(0, 0, 10), pass(1, 0, 60), pass(0, 1, 10)};
  const std::vector<const StrategyResult*> both = {&a, &b}, one = {&a};
  EXPECT_EQ(slowest_pass(both), (PassPlace{.denoise_step = 0, .layer = 1}));
  EXPECT_EQ(slowest_pass(one), (PassPlace{.denoise_step = 0, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = 0, .denoise_step = {}}), (PassPlace{.denoise_step = 0, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = {}, .denoise_step = 1}), (PassPlace{.denoise_step = 1, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = 1, .denoise_step = 1}), std::nullopt);
  EXPECT_EQ(slowest_pass({}), std::nullopt);
}

TEST(SlowestPass, IsTheFirstWhereTimesSayNothing) {
  StrategyResult a;
  a.by_layer = {pass(1, 1, {}), pass(3, 0, {}), pass(2, 0, {})};
  const std::vector<const StrategyResult*> planned = {&a};
  EXPECT_EQ(slowest_pass(planned), (PassPlace{.denoise_step = 0, .layer = 2}));
}

}  // namespace
}  // namespace spscope
