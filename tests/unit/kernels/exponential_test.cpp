// The vector exponential against the double-precision one.
#include "kernels/exponential.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "tests/unit/kernels/target_fixture.h"

namespace spscope::kernels {
namespace {

// 9.2e-8 of the polynomial and about 2.5 roundings of 6e-8; x / ln 2 is rounded to 24 bits where there is no fused
// multiply-add, which with the rounding of 1 / ln 2 is |x| * 7.5e-8 in the result.
double tolerance(float x) { return 2.5e-7 + std::fabs(x) * 7.5e-8; }

class Exponential : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Exponential, ::testing::ValuesIn(supported_targets()), target_of);

TEST_P(Exponential, IsAccurateFromZeroToTheSmallestNormalNumber) {
  std::vector<float> x;
  for (int i = 0; i < 100003; ++i) x.push_back(-87.0f * static_cast<float>(i) / 100003.0f);
  std::vector<float> y(x.size());
  exp_nonpositive(x, y);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(y[i] - expected) / expected / tolerance(x[i]));
  }
  EXPECT_LE(worst, 1.0);
}

TEST_P(Exponential, IsExactAtZeroAndVanishesFarBelow) {
  const std::vector<float> x = {0.0f, -0.0f, -100.0f, -1e30f, -std::numeric_limits<float>::infinity()};
  std::vector<float> y(x.size(), 7);
  exp_nonpositive(x, y);
  EXPECT_EQ(y, (std::vector<float>{1, 1, 0, 0, 0}));
}

TEST_P(Exponential, DoesNotDependOnThePlaceInTheArray) {
  for (std::size_t count = 0; count <= 40; ++count) {
    const std::vector<float> x(count, -1.25f);
    std::vector<float> y(count + 1, 7);
    exp_nonpositive(x, std::span<float>(y).first(count));
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(y[i], y[0]);
    EXPECT_EQ(y[count], 7) << "wrote past the end";
  }
}

}  // namespace
}  // namespace spscope::kernels
