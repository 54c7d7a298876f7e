// Golden masks: what every pattern generates for one small request. Patterns that use integers and correctly rounded
// arithmetic alone give the same bits on every machine and are compared by hash. The others call exp, log or cos of the
// C library, whose last bit may differ, so their active tiles and imbalance are compared with room for a few blocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"

namespace spscope {
namespace {

// 3 x 8 x 14 video tokens and 10 of text: 22 blocks of 16, the last of 10.
PatternRequest small_request(const Pattern& pattern) {
  PatternRequest request;
  request.heads = 8;
  request.grid = {3, 8, 14};
  request.text_tokens = 10;
  request.block = 16;
  request.density = 0.4;
  request.seed = 5;
  request.denoise_step = 3;
  request.layer = 1;
  request.layers = 2;
  request.parameters = Parameters(pattern.parameters());
  return request;
}

struct GoldenMask {
  std::string_view pattern;
  std::uint64_t hash;  // 0: not the same on every machine
  std::int64_t active_tiles;
  double imbalance;  // barrier ratio of the area on 4 x 2 ranks; dense: (176 x 176 + 176 x 170) / (346 x 346 / 2)
};
constexpr GoldenMask kGolden[] = {
    {"dense", 0xd3bb65ef6f4adff4, 3872, 1.0173},
    {"window", 0xa529acc2f219e582, 1696, 1.0199},
    {"sparge", 0, 1637, 1.4905},
    {"paro", 0, 1628, 1.3708},
    {"svg", 0x007c848c149b2b6e, 1624, 1.2203},
    {"sta", 0, 2144, 1.1038},
    {"vsa", 0, 3336, 1.5871},
    {"radial", 0, 3480, 1.1364},
    {"xattention", 0, 1628, 1.3120},
    {"headwise", 0x7ab2d31e8b4fc618, 2108, 1.9250},
    {"tokenwise", 0x8b13b3abc65030c5, 2528, 1.1672},
    {"hybrid-window", 0xdb78a32f35b69369, 1149, 2.1100},
    {"chess", 0x939721cb544989c0, 2104, 1.0117},
};

TEST(GoldenMask, EveryPatternOnOneRequest) {
  constexpr std::int64_t kFewTiles = 4;
  constexpr double kFewTilesOfARank = 0.01;
  ASSERT_EQ(std::size(kGolden), patterns().size());
  for (const GoldenMask& golden : kGolden) {
    const Pattern* pattern = find_pattern(golden.pattern);
    ASSERT_NE(pattern, nullptr) << golden.pattern;
    const PatternRequest request = small_request(*pattern);
    ASSERT_TRUE(pattern->check(request).empty()) << golden.pattern;
    const BlockMask mask = pattern->generate(request);
    const std::int64_t active_tiles = describe(mask).active_tiles;
    const double imbalance = split_imbalance(mask, 4, 2).barrier;
    SCOPED_TRACE(fmt::format("{}: 0x{:016x}, {}, {:.4f}", golden.pattern, mask.hash(), active_tiles, imbalance));
    EXPECT_EQ(golden.hash != 0 ? mask.hash() : 0, golden.hash);
    EXPECT_LE(std::abs(active_tiles - golden.active_tiles), golden.hash != 0 ? 0 : kFewTiles);
    EXPECT_NEAR(imbalance, golden.imbalance, golden.hash != 0 ? 1e-4 : kFewTilesOfARank);
  }
}

// The stress masks of db-SP's ablation have the bits of their definitions: 40 heads, 1,184 blocks. The ratios that its
// authors report are those of plans on them (tests/unit/schedule/imbalance_test.cpp).
template <typename Active>
void expect_bits(const char* name, Active&& active) {
  const Pattern& pattern = *find_pattern(name);
  PatternRequest request;
  request.heads = 40;
  request.grid = {32, 37, 32};
  request.block = 32;
  request.parameters = Parameters(pattern.parameters());
  const BlockMask mask = pattern.generate(request);
  for (int h = 0; h < 40; h += 3)
    for (int q = 0; q < 1184; q += 11)
      for (int k = 0; k < 1184; ++k) ASSERT_EQ(mask.active(h, q, k), active(h, q, k)) << name << ' ' << h << ' ' << q;
}

TEST(StressMask, BitsAreThoseOfTheDefinition) {
  const std::set<int> dense = {0, 1, 2, 3, 4, 5, 10, 15, 20, 21, 25, 26, 30, 31, 35, 36};
  const std::vector<int> columns = {93, 93, 93, 93, 93, 93, 34, 0};
  expect_bits("headwise", [&](int h, int, int) { return dense.count(h) > 0; });
  expect_bits("tokenwise", [&](int, int, int k) { return k % 148 < columns[k / 148]; });
  expect_bits("hybrid-window", [](int h, int q, int k) { return k < q && k >= q - 20 * h; });
  expect_bits("chess", [](int, int q, int k) { return (q / 148 + k / 148) % 2 == 1; });
}

}  // namespace
}  // namespace spscope
