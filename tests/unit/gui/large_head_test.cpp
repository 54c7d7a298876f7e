// The large picture of a head against its mask, bit by bit.
#include <gtest/gtest.h>

#include "backend/base/rng.h"
#include "gui/views/heads/heads_data.h"
#include "tests/support/random_mask.h"

namespace spscope::gui {
namespace {

// Blocks of 4 tokens, the last one of 3.
BlockMask random_mask(int heads, int blocks, double density, std::uint64_t seed) {
  std::vector<std::int32_t> starts;
  for (int b = 0; b < blocks; ++b) starts.push_back(4 * b);
  starts.push_back(4 * blocks - 1);
  Rng rng(seed);
  return testing::mask_where(heads, std::move(starts), [&](int, int, int) { return rng.below(1000) < density * 1000; });
}

TEST(StepMask, DensitiesAndTilesAreThoseOfTheBits) {
  const BlockMask bits = random_mask(3, 70, 0.3, 1);
  const StepMask step(bits);
  for (int h = 0; h < 3; ++h) {
    std::int64_t tiles = 0, pairs = 0;
    for (int q = 0; q < 70; ++q)
      for (int k = 0; k < 70; ++k) {
        if (!bits.active(h, q, k)) continue;
        ++tiles;
        pairs += (q == 69 ? 3 : 4) * (k == 69 ? 3 : 4);
      }
    const auto head = static_cast<std::size_t>(h);
    EXPECT_EQ(step.tiles[head], tiles);
    EXPECT_DOUBLE_EQ(step.density[head], static_cast<double>(pairs) / (279.0 * 279.0));
  }
}

TEST(LargeHead, TilesAndBarsAreThoseOfTheMask) {
  const int blocks = 70, bar = LargeHead::kBar;
  const BlockMask mask = random_mask(2, blocks, 0.2, 2);
  const Appearance dark = Appearance::kDark;
  const LargeHead large = large_head(nullptr, AttendedAxis::kInner, mask, nullptr, 1, {dark, true, false});
  const std::uint32_t on = texel(token_color(Token::kAccent, dark)), off = texel(token_color(Token::kEmpty, dark));
  ASSERT_EQ(large.blocks, blocks);
  for (int q = 0; q < blocks; ++q) {
    int row = 0, column = 0;
    for (int k = 0; k < blocks; ++k) {
      row += mask.active(1, q, k), column += mask.active(1, k, q);
      ASSERT_EQ(large.tiles[static_cast<std::size_t>(q * blocks + k)], mask.active(1, q, k) ? on : off);
    }
    int row_bar = 0, column_bar = 0;
    for (int i = 0; i < bar; ++i) {
      row_bar += large.row_bars[static_cast<std::size_t>(q * bar + i)] != 0;
      column_bar += large.column_bars[static_cast<std::size_t>(i * blocks + q)] != 0;
    }
    EXPECT_EQ(row_bar, (row * bar + blocks - 1) / blocks);
    EXPECT_EQ(column_bar, (column * bar + blocks - 1) / blocks);
  }
}

TEST(LargeHead, ADifferenceShowsWhatEitherHasAlone) {
  const int blocks = 40;
  const BlockMask mask = random_mask(1, blocks, 0.4, 3), other = random_mask(1, blocks, 0.4, 4);
  const Appearance light = Appearance::kLight;
  const LargeHead large = large_head(nullptr, AttendedAxis::kInner, mask, &other, 0, {light, true, false});
  const std::uint32_t here = texel(token_color(Token::kWire, light)), there = texel(token_color(Token::kLate, light)),
                      neither = texel(token_color(Token::kEmpty, light));
  for (int q = 0; q < blocks; ++q)
    for (int k = 0; k < blocks; ++k) {
      const std::uint32_t shown = large.tiles[static_cast<std::size_t>(q * blocks + k)];
      const bool on = mask.active(0, q, k), was = other.active(0, q, k);
      if (on && was) {
        EXPECT_TRUE(shown != here && shown != there && shown != neither);
      } else {
        EXPECT_EQ(shown, on ? here : was ? there : neither);
      }
    }
}

}  // namespace
}  // namespace spscope::gui
