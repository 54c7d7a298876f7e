// Unfinished rows by hand, where the numbers are known; the vector exponential against the double-precision one; and
// calibration, whose rates are ones that a processor can have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "backend/base/dtype.h"
#include "kernels/attention.h"
#include "kernels/calibrate.h"
#include "kernels/exponential.h"
#include "tests/unit/kernels/target_fixture.h"

namespace spscope::kernels {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Two rows of two dimensions, one sentinel after each row.
struct TwoRows {
  std::vector<float> out = {9, 9, -1, 9, 9, -1}, row_max = {9, 9, -1}, row_sum = {9, 9, -1};
  RowState state() { return {out.data(), row_max.data(), row_sum.data(), 3}; }
};

TEST(Rows, ClearedRowsHaveMetNoKey) {
  TwoRows rows;
  clear_rows(2, 2, rows.state());
  EXPECT_EQ(rows.out, (std::vector<float>{0, 0, -1, 0, 0, -1}));
  EXPECT_EQ(rows.row_max, (std::vector<float>{kMinusInfinity, kMinusInfinity, -1}));
  EXPECT_EQ(rows.row_sum, (std::vector<float>{0, 0, -1}));
}

// Keys with scores 0 and ln 3 and values (4, 0) and (0, 8): weights 1/4 and 3/4.
TEST(Rows, MergeWeighsByTheLargerMaximum) {
  TwoRows from, into;
  clear_rows(2, 2, from.state());
  clear_rows(2, 2, into.state());
  from.out = {4, 0, -1, 0, 8, -1};
  into.out = {0, 8, -1, 4, 0, -1};
  from.row_max = {0, std::log(3.0f), -1};
  into.row_max = {std::log(3.0f), 0, -1};
  from.row_sum = into.row_sum = {1, 1, -1};
  merge_rows(2, 2, from.state(), into.state());
  std::vector<float> finished(4);
  finish_rows(Dtype::kFp32, 2, into.state(), {finished.data(), 2, 2});
  for (int row = 0; row < 2; ++row) {
    EXPECT_NEAR(finished[row * 2], 1, 1e-6) << row;
    EXPECT_NEAR(finished[row * 2 + 1], 6, 1e-6) << row;
    EXPECT_FLOAT_EQ(into.row_max[row], std::log(3.0f)) << row;
    EXPECT_NEAR(into.row_sum[row], 4.0 / 3, 1e-6) << row;
  }
  EXPECT_EQ(into.out[2], -1);
  EXPECT_EQ(into.out[5], -1);
}

TEST(Rows, MergingRowsThatMetNoKeyChangesNothing) {
  TwoRows empty, into, both_empty;
  clear_rows(2, 2, empty.state());
  clear_rows(2, 2, both_empty.state());
  into.out = {1, 2, -1, 3, 4, -1};
  into.row_max = {-5, 1e30f, -1};
  into.row_sum = {2, 3, -1};
  const TwoRows before = into;
  merge_rows(2, 2, empty.state(), into.state());
  EXPECT_EQ(into.out, before.out);
  EXPECT_EQ(into.row_max, before.row_max);
  EXPECT_EQ(into.row_sum, before.row_sum);
  merge_rows(2, 2, into.state(), both_empty.state());
  EXPECT_EQ(both_empty.out, before.out);
  EXPECT_EQ(both_empty.row_max, before.row_max);
  TwoRows still_empty;
  clear_rows(2, 2, still_empty.state());
  merge_rows(2, 2, empty.state(), still_empty.state());
  EXPECT_EQ(still_empty.out, empty.out);
  EXPECT_EQ(still_empty.row_max, empty.row_max);
  EXPECT_EQ(still_empty.row_sum, empty.row_sum);
}

TEST(Rows, FinishRoundsToTheStorageTypeAndGivesZerosForNoKey) {
  TwoRows rows;
  clear_rows(2, 2, rows.state());
  rows.out = {1, 2, -1, 0, 0, -1};
  rows.row_sum = {3, 0, -1};
  std::vector<Bf16> halves(5, to_bf16(7));
  finish_rows(Dtype::kBf16, 2, rows.state(), {halves.data(), 2, 2});
  EXPECT_EQ(halves[0].bits, to_bf16(1.0f / 3).bits);
  EXPECT_EQ(halves[1].bits, to_bf16(2.0f / 3).bits);
  EXPECT_EQ(halves[2].bits, 0);
  EXPECT_EQ(halves[3].bits, 0);
  EXPECT_EQ(halves[4].bits, to_bf16(7).bits) << "wrote past the last row";
}

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

class KernelCalibration : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, KernelCalibration, ::testing::ValuesIn(supported_targets()), target_of);

TEST_P(KernelCalibration, NamesTheInstructionSetInUse) { EXPECT_EQ(dispatched_target(), target_name(GetParam())); }

// From an unoptimised build on a slow core to two units of 64 lanes at 6 GHz; a loop that was optimised away is beyond.
TEST_P(KernelCalibration, FmaRateIsOneOfAProcessor) {
  const double gflop_per_s = measure_fma_gflop_per_s(1);
  EXPECT_GT(gflop_per_s, 0.005);
  EXPECT_LT(gflop_per_s, 1600);
}

TEST(CalibrateCopy, RateIsOneOfAMemory) {
  const double gbps = measure_copy_gbps(1 << 20, 2);
  EXPECT_GT(gbps, 0.05);
  EXPECT_LT(gbps, 2000);
}

}  // namespace
}  // namespace spscope::kernels
