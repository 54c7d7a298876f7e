#include "backend/analysis/slowest_pass.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/analysis/layer_result.h"

namespace spscope {
namespace {

using testing::pass;

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
