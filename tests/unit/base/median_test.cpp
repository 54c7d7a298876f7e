#include "backend/base/median.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TEST(Median, IsAMeasuredValueTheLowerOfTwo) {
  EXPECT_EQ(median(std::vector<double>{5}), 5);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5, 7}), 5);
  EXPECT_EQ(median(std::vector<std::int64_t>{40, 10}), 10);
  EXPECT_EQ(median_index(1), 0u);
  EXPECT_EQ(median_index(4), 1u);
  EXPECT_EQ(median_index(5), 2u);
}

TEST(Quantile, IsLinearBetweenNeighbours) {
  const std::int64_t sorted[] = {10, 20, 40, 80};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.75), 50);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 80);
  EXPECT_DOUBLE_EQ(quantile({sorted, 1}, 0.75), 10);
}

}  // namespace
}  // namespace spscope
