// The patterns of published methods keep the rules of their papers and released code, implemented a second time here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"
#include "backend/mask/tile_order.h"

namespace spscope {
namespace {

PatternRequest request_of(const char* name, std::array<int, 3> grid, int block, double density) {
  PatternRequest request;
  request.heads = 12;
  request.grid = grid;
  request.block = block;
  request.density = density;
  request.parameters = Parameters(find_pattern(name)->parameters());
  return request;
}
BlockMask generate(const char* name, const PatternRequest& request) { return find_pattern(name)->generate(request); }

int row_count(const BlockMask& mask, int head, int q) {
  int count = 0;
  for (int k = 0; k < mask.blocks(); ++k) count += mask.active(head, q, k);
  return count;
}
int head_count(const BlockMask& mask, int head) {
  int count = 0;
  for (int q = 0; q < mask.blocks(); ++q) count += row_count(mask, head, q);
  return count;
}
bool same_head(const BlockMask& mask, int a, int b) {
  for (int q = 0; q < mask.blocks(); ++q)
    if (!std::ranges::equal(mask.row(a, q), mask.row(b, q))) return false;
  return true;
}

TEST(PatternSvg, EveryHeadHasAsManyBlocksAndIsOfOneOfTwoClasses) {
  for (double density : {0.15, 0.3, 0.37}) {
    const BlockMask mask = generate("svg", request_of("svg", {9, 12, 20}, 48, density));
    int classes = 1, other = 0;
    for (int head = 0; head < mask.heads(); ++head) {
      EXPECT_EQ(head_count(mask, head), std::lround(density * mask.blocks() * mask.blocks()));
      if (same_head(mask, head, 0)) continue;
      if (classes++ == 1) other = head;
      EXPECT_TRUE(same_head(mask, head, other));
    }
    EXPECT_GT(classes, 1);
    EXPECT_LT(classes, mask.heads());
  }
}

TEST(PatternSvg, SpatialHeadsAreABandAndTemporalOnesRepeatItOneFrameApart) {
  PatternRequest request = request_of("svg", {9, 12, 20}, 48, 0.3);  // 5 blocks a frame
  request.parameters.set("temporal_share", 0.0);
  const BlockMask spatial = generate("svg", request);
  request.parameters.set("temporal_share", 1.0);
  const BlockMask temporal = generate("svg", request);
  for (int q = 0; q < 45; ++q) {
    int farthest = 0, nearest_inactive = 45;
    for (int k = 0; k < 45; ++k) {
      EXPECT_TRUE(k >= 5 || spatial.active(0, q, k)) << "the first frame";
      if (k < 5) continue;
      if (spatial.active(0, q, k)) farthest = std::max(farthest, std::abs(q - k));
      if (!spatial.active(0, q, k)) nearest_inactive = std::min(nearest_inactive, std::abs(q - k));
      EXPECT_TRUE(k % 5 != q % 5 || temporal.active(0, q, k)) << q << ' ' << k << ": the same place in every frame";
    }
    EXPECT_LE(farthest, nearest_inactive + 1);
  }
}

TEST(PatternSta, EveryRowOfAHeadHasTheTilesOfItsWindow) {
  // 5 x 6 x 10 tiles of 384 tokens, as HunyuanVideo: one block a tile.
  PatternRequest request = request_of("sta", {30, 48, 80}, 384, 0.165);
  request.heads = 24;
  const BlockMask mask = generate("sta", request);
  ASSERT_EQ(mask.blocks(), 300);
  EXPECT_NEAR(mask.density(), 0.165, 0.01);
  std::set<int> counts;
  for (int head = 0; head < mask.heads(); ++head) {
    counts.insert(row_count(mask, head, 0));
    for (int q = 0; q < 300; ++q) {
      ASSERT_EQ(row_count(mask, head, q), row_count(mask, head, 0));
      ASSERT_TRUE(mask.active(head, q, q));
      // Active tiles are a box: as many as the product of the extents that they span.
      std::array<std::set<int>, 3> seen;
      for (int k = 0; k < 300; ++k) {
        if (!mask.active(head, q, k)) continue;
        seen[0].insert(k / 60), seen[1].insert(k / 10 % 6), seen[2].insert(k % 10);
      }
      ASSERT_EQ(seen[0].size() * seen[1].size() * seen[2].size(), static_cast<std::size_t>(row_count(mask, head, q)));
    }
  }
  EXPECT_GE(counts.size(), 2u);
  EXPECT_NEAR(describe(mask).head_cv, 0.13, 0.06);  // .125 to .136 in the released table
}

TEST(PatternSta, SmallerBlocksCutTilesAndChangeNothingElse) {
  PatternRequest request = request_of("sta", {12, 16, 24}, 384, 0.3);
  const BlockMask whole = generate("sta", request);
  for (int block : {32, 64, 128, 256}) {
    request.block = block;
    const BlockMask cut = generate("sta", request);
    const int parts = (384 + block - 1) / block;
    ASSERT_EQ(cut.blocks(), whole.blocks() * parts);
    for (int q = 0; q < cut.blocks(); ++q)
      for (int k = 0; k < cut.blocks(); ++k) ASSERT_EQ(cut.active(3, q, k), whole.active(3, q / parts, k / parts));
  }
}

// One head takes the nearest of the densities that its windows have, counted here tile by tile on ragged tiles.
TEST(PatternSta, RaggedTilesCountByTheirTokens) {
  PatternRequest request = request_of("sta", {1, 1, 50}, 384, 1);  // tiles of 6 x 8 x 8: six of 8 tokens and one of 2
  request.heads = 1;
  for (int width = 1; width <= 7; ++width) {
    double pairs = 0;
    for (int at = 0; at < 7; ++at) {
      for (int k = 0; k < 7; ++k) {
        const int begin = std::clamp(at - width / 2, 0, 7 - width);
        if (k >= begin && k < begin + width) pairs += (at == 6 ? 2 : 8) * (k == 6 ? 2 : 8);
      }
    }
    request.density = pairs / 2500;
    EXPECT_NEAR(generate("sta", request).density(), request.density, 1e-12) << width;
  }
}

TEST(PatternSta, HeadsKeepTheirWindowsFromStepToStep) {
  PatternRequest request = request_of("sta", {30, 48, 80}, 384, 0.165);
  request.heads = 24;
  BlockMask before = generate("sta", request);
  double changed = 0;
  for (request.denoise_step = 1; request.denoise_step <= 20; ++request.denoise_step) {
    const BlockMask now = generate("sta", request);
    for (int head = 0; head < 24; ++head)
      changed += std::ranges::equal(now.row(head, 150), before.row(head, 150)) ? 0 : 1.0 / (24 * 20);
    before = now;
  }
  EXPECT_GT(changed, 0.0);
  EXPECT_LT(changed, 0.08);  // 92 to 99 % unchanged
}

TEST(TileOrder, RaggedTilesHoldEveryTokenOnce) {
  const TileOrder order = tile_order({5, 7, 9}, {2, 4, 4});
  EXPECT_EQ(order.tiles(), 3 * 2 * 3);
  EXPECT_EQ(order.starts.front(), 0);
  EXPECT_EQ(order.starts.back(), 5 * 7 * 9);
  EXPECT_EQ(order.starts[order.tile(0, 0, 1)], 2 * 4 * 4);
  EXPECT_EQ(order.starts[order.tile(2, 1, 2) + 1] - order.starts[order.tile(2, 1, 2)], 1 * 3 * 1);
  EXPECT_EQ(num_tiles({5, 7, 9}, {2, 4, 4}), 18);
  std::int64_t blocks = 0;
  for (int tile = 0; tile < order.tiles(); ++tile) blocks += (order.starts[tile + 1] - order.starts[tile] + 4) / 5;
  EXPECT_EQ(num_tile_blocks({5, 7, 9}, {2, 4, 4}, 5), blocks);
}

TEST(PatternVsa, EveryRowOfEveryHeadKeepsTheSameNumberOfCubes) {
  for (double density : {0.1, 0.125, 0.3}) {
    const BlockMask mask = generate("vsa", request_of("vsa", {8, 16, 24}, 64, density));
    ASSERT_EQ(mask.blocks(), 2 * 4 * 6);
    for (int head = 0; head < mask.heads(); ++head)
      for (int q = 0; q < mask.blocks(); ++q) ASSERT_EQ(row_count(mask, head, q), std::ceil(density * 48)) << density;
    EXPECT_DOUBLE_EQ(split_imbalance(mask, 4, 1).plain, 1);
    EXPECT_NEAR(split_imbalance(mask, 1, 4).plain, 1, 1e-12);
    EXPECT_GT(split_imbalance(mask, 1, 4).barrier, 1.1);
  }
}

TEST(PatternVsa, ColumnsDifferMuchAndCubesFitTheBlock) {
  PatternRequest request = request_of("vsa", {8, 16, 24}, 64, 0.15);
  const std::vector<double> load = describe(generate("vsa", request)).column_load;
  EXPECT_GT(*std::ranges::max_element(load), 2 * *std::ranges::min_element(load));
  for (const auto& [block, cubes] :
       std::vector<std::pair<int, int>>{{32, 96}, {64, 48}, {100, 48}, {128, 24}, {256, 12}}) {
    request.block = block;
    EXPECT_EQ(generate("vsa", request).blocks(), cubes) << block;
  }
  request.grid = {1, 64, 96};  // an image: cubes of 1 x 8 x 8
  request.block = 64;
  EXPECT_EQ(generate("vsa", request).blocks(), 96);
}

// The rule token by token, for blocks that a frame is a multiple of.
TEST(PatternRadial, KeepsTheBlocksOfItsRule) {
  constexpr int kFrames = 9, kFrameTokens = 192, kBlock = 32, kBlocksAFrame = kFrameTokens / kBlock;
  constexpr double kDecay = 0.4;
  PatternRequest request = request_of("radial", {kFrames, 12, 16}, kBlock, 0.5);
  request.parameters.set("decay_factor", kDecay);
  const BlockMask mask = generate("radial", request);
  auto bit_length = [](int x) { return x == 0 ? 0 : static_cast<int>(std::log2(x)) + 1; };
  for (int q = 0; q < kFrames * kBlocksAFrame; ++q) {
    for (int k = 0; k < kFrames * kBlocksAFrame; ++k) {
      const int distance = std::abs(q / kBlocksAFrame - k / kBlocksAFrame);
      const double w0 = std::pow(2, bit_length(kFrameTokens)) / std::pow(2, bit_length(distance));
      const double width = distance <= 1 ? kFrameTokens : std::max<double>(w0 * kDecay, kBlock);
      const bool pair = distance <= 1 || w0 >= 128 || distance % static_cast<int>(128 / w0) == 0;
      int met_columns = 0, full_columns = 0;
      for (int column = 0; column < kBlock; ++column) {
        int met = 0;
        for (int row = 0; row < kBlock; ++row) {
          const int apart = std::abs(q % kBlocksAFrame * kBlock + row - k % kBlocksAFrame * kBlock - column);
          met += k < kBlocksAFrame || (pair && apart <= width);
        }
        met_columns += met > 0;
        full_columns += 3 * met > kBlock;
      }
      EXPECT_EQ(mask.active(0, q, k), full_columns > 0.6 * met_columns) << q << ' ' << k;
    }
  }
}

TEST(PatternRadial, OneMaskForAllHeadsWithTheWantedDensityWhereTheRuleReachesIt) {
  PatternRequest request = request_of("radial", {21, 24, 40}, 36, 0.3);  // 26.7 blocks a frame
  for (double density : {0.25, 0.3, 0.4, 0.6}) {
    request.density = density;
    const BlockMask mask = generate("radial", request);
    EXPECT_NEAR(mask.density(), density, 0.04);
    for (int head = 1; head < mask.heads(); ++head) EXPECT_TRUE(same_head(mask, head, 0));
    for (int q = 0; q < mask.blocks(); ++q) EXPECT_TRUE(mask.active(0, q, q) && mask.active(0, q, 0));
  }
  // Two frames on either side and the first are kept whatever is wanted.
  request.density = 0.01;
  const double least = generate("radial", request).density();
  request.parameters.set("decay_factor", 1e-4);
  EXPECT_NEAR(generate("radial", request).density(), least, 1e-12);
  EXPECT_GT(least, 0.1);
}

TEST(PatternXattention, HeadsAndRowsDifferAndNothingIsDense) {
  PatternRequest request = request_of("xattention", {8, 24, 40}, 128, 0.4);
  request.heads = 40;
  const MaskStatistics statistics = describe(generate("xattention", request));
  EXPECT_NEAR(statistics.density, 0.4, 0.02);
  EXPECT_GT(statistics.head_cv, 0.25);
  EXPECT_LT(statistics.head_cv, 0.6);
  EXPECT_LT(*std::ranges::max_element(statistics.column_load), 0.9);
  EXPECT_LT(*std::ranges::max_element(statistics.row_load), 0.9);
}

TEST(HeadEvolution, IsStandardNormalAndCorrelatedAsItSays) {
  PatternRequest request;
  constexpr int kHeads = 4000;
  auto values = [&](int step, double drift) {
    request.denoise_step = step;
    std::vector<double> all;
    for (int head = 0; head < kHeads; ++head) all.push_back(evolving_normal(request, head, 1, drift));
    return all;
  };
  auto correlation = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / kHeads;
  };
  const std::vector<double> first = values(0, 0.4), second = values(1, 0.4), last = values(49, 0.4);
  EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0.0) / kHeads, 0, 0.05);
  EXPECT_NEAR(correlation(first, first), 1, 0.06);
  EXPECT_NEAR(correlation(last, last), 1, 0.06);
  EXPECT_NEAR(correlation(first, second), 0.6 + 0.4 * 0.98, 0.06);
  EXPECT_GT(correlation(first, last), 0.6 - 0.06);
  EXPECT_LT(correlation(first, last), 0.8);
  EXPECT_EQ(values(3, 0), values(40, 0));
}

// Evolution is smooth: one step changes less than twenty do.
TEST(HeadEvolution, MasksDriftAway) {
  for (const char* name : {"sparge", "xattention", "vsa"}) {
    PatternRequest request = request_of(name, {6, 12, 20}, 16, 0.3);
    const BlockMask first = generate(name, request);
    request.denoise_step = 1;
    const double one = similarity(first, generate(name, request));
    request.denoise_step = 20;
    const double twenty = similarity(first, generate(name, request));
    EXPECT_GT(one, 0.8) << name;
    EXPECT_LT(one, 1.0) << name;
    EXPECT_LT(twenty, one) << name;
  }
}

}  // namespace
}  // namespace spscope
