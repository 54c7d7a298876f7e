// Statistics of masks with known answers.
#include "backend/mask/statistics.h"
#include "tests/support/random_mask.h"

#include <gtest/gtest.h>

#include <functional>

namespace spscope {
namespace {

BlockMask make(int heads, int blocks, const std::function<bool(int, int, int)>& active) {
  return testing::mask_where(heads, BlockMask::uniform_starts(blocks * 4, 4), active);
}

// Head 0: the band |i - j| <= 1, 10 tiles. Head 1: the same and column 0, 12 tiles. Mean of two ranks 11, of four 5.5.
BlockMask band_and_column() {
  return make(2, 4, [](int h, int i, int j) { return std::abs(i - j) <= 1 || (h == 1 && j == 0); });
}

TEST(SplitImbalance, GoldenVectorsOfDbSp) {
  const BlockMask mask = band_and_column();
  EXPECT_NEAR(split_imbalance(mask, 2, 1).barrier, 1.0909, 5e-5);
  EXPECT_NEAR(split_imbalance(mask, 1, 2).barrier, 1.0909, 5e-5);
  EXPECT_NEAR(split_imbalance(mask, 2, 2).barrier, 1.2727, 5e-5);
  EXPECT_NEAR(split_imbalance(mask, 1, 4).barrier, 1.2727, 5e-5);
}

// Tiles (0,0) (1,2) (2,1) (3,3): rows and columns are even, but steps 0, 1 and 3 each have a busy rank.
TEST(SplitImbalance, MarginalsCanBeEvenWhileStepsAreNot) {
  const std::vector<int> key_of = {0, 2, 1, 3};
  const BlockMask mask = make(1, 8, [&](int, int i, int j) { return key_of[i / 2] == j / 2; });
  EXPECT_DOUBLE_EQ(split_imbalance(mask, 1, 4).barrier, 3.0);
  EXPECT_DOUBLE_EQ(split_imbalance(mask, 1, 4).plain, 1.0);
}

// Two ring groups whose heavy steps differ. Group 0: (0,0) and (1,1), step 0. Group 1: (0,1) and (1,0), step 1. Inside
// a group no rank waits: 1. Over all ranks each of the two steps costs one tile, the mean is one: 2.
TEST(SplitImbalance, BarrierOverAllRanksWaitsForTheOtherGroups) {
  const BlockMask mask = make(2, 2, [](int h, int i, int j) { return (i == j) == (h == 0); });
  EXPECT_DOUBLE_EQ(split_imbalance(mask, 2, 2).barrier, 1.0);
  EXPECT_DOUBLE_EQ(split_imbalance(mask, 2, 2).barrier_all_ranks, 2.0);
}

TEST(SplitImbalance, UnevenPartsAreCutAtRoundedDownFractions) {
  const BlockMask dense = make(3, 5, [](int, int, int) { return true; });
  // Heads 1 and 2 on two ranks: 2 / 1.5.
  EXPECT_DOUBLE_EQ(split_imbalance(dense, 2, 1).plain, 2.0 / 1.5);
  // Blocks 2 and 3: steps of 4 and 9 tiles, 6 and 6; mean of 2 ranks 12.5.
  EXPECT_DOUBLE_EQ(split_imbalance(dense, 1, 2).barrier, (9 + 6) / 12.5);
}

// Blocks of 8, 8 and 2 tokens, all active: ranks of a ring of 3 compute 8, 8 and 2 x 18 pairs, each step up to 8 x 8.
TEST(SplitImbalance, WeighsTilesByTheirArea) {
  BlockMask mask(1, {0, 8, 16, 18});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) mask.set(0, i, j);
  const SplitImbalance split = split_imbalance(mask, 1, 3);
  EXPECT_DOUBLE_EQ(split.plain, 8.0 * 18 / (18.0 * 18 / 3));
  EXPECT_DOUBLE_EQ(split.barrier, (64.0 + 64 + 64) / (18.0 * 18 / 3));
}

TEST(SplitImbalance, EmptyMaskIsBalanced) {
  const BlockMask empty = make(2, 4, [](int, int, int) { return false; });
  EXPECT_DOUBLE_EQ(split_imbalance(empty, 2, 2).barrier, 1.0);
}

TEST(MaskStatistics, DescribesAMaskWithRaggedEnd) {
  BlockMask mask(2, {0, 4, 6});
  mask.set(0, 0, 0);  // 16 of 36
  mask.set(0, 1, 0);  // 8 of 36
  mask.set(1, 0, 1);  // 8 of 36
  const MaskStatistics result = describe(mask);
  EXPECT_DOUBLE_EQ(result.head_density[0], 24.0 / 36);
  EXPECT_DOUBLE_EQ(result.head_density[1], 8.0 / 36);
  EXPECT_DOUBLE_EQ(result.density, 16.0 / 36);
  EXPECT_DOUBLE_EQ(result.density, mask.density());
  EXPECT_DOUBLE_EQ(result.head_cv, 0.5);
  EXPECT_DOUBLE_EQ(result.row_load[0], (4 + 2) / 12.0);
  EXPECT_DOUBLE_EQ(result.row_load[1], 4 / 12.0);
  EXPECT_DOUBLE_EQ(result.column_load[0], (4 + 2) / 12.0);
  EXPECT_DOUBLE_EQ(result.column_load[1], 4 / 12.0);
  EXPECT_EQ(result.active_tiles, 3);
  EXPECT_EQ(result.empty_rows, 1);  // head 1, block 1
  EXPECT_EQ(result.head_histogram, (Histogram{0, 0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST(MaskStatistics, HistogramPutsTheEndsInTheOuterBins) {
  const std::vector<double> values = {0, 0.49, 0.5, 1};
  EXPECT_EQ(histogram(values, 2), (Histogram{2, 2}));
}

TEST(MaskStatistics, SimilarityIsSharedOverUnion) {
  const BlockMask a = make(1, 2, [](int, int i, int) { return i == 0; });
  const BlockMask b = make(1, 2, [](int, int, int j) { return j == 0; });
  EXPECT_DOUBLE_EQ(similarity(a, b), 1.0 / 3);
  EXPECT_DOUBLE_EQ(similarity(a, a), 1.0);
}

}  // namespace
}  // namespace spscope
