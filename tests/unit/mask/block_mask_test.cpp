// BlockMask against counting token by token, without words, shares or special cases.
#include "backend/mask/block_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backend/base/rng.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

std::vector<std::int32_t> random_starts(Rng& rng, int num_blocks, int max_block) {
  std::vector<std::int32_t> starts = {0};
  for (int b = 0; b < num_blocks; ++b)
    starts.push_back(starts.back() + 1 + static_cast<std::int32_t>(rng.below(max_block)));
  return starts;
}

BlockMask random_mask(Rng& rng, int heads, std::vector<std::int32_t> starts, double density) {
  return testing::mask_where(heads, std::move(starts), [&](int, int, int) { return rng.uniform() < density; });
}

// Sorted, disjoint, non-adjacent spans of [0, n).
std::vector<Span> random_set(Rng& rng, std::int32_t n, double keep) {
  std::vector<Span> spans;
  for (std::int32_t at = 0; at < n;) {
    const std::int32_t end = std::min<std::int32_t>(n, at + 1 + static_cast<std::int32_t>(rng.below(n / 3 + 2)));
    if (rng.uniform() < keep) {
      if (!spans.empty() && spans.back().end == at)
        spans.back().end = end;
      else
        spans.push_back({at, end});
    }
    at = end;
  }
  return spans;
}

std::vector<std::int32_t> members(std::span<const Span> spans) {
  std::vector<std::int32_t> all;
  for (const Span& s : spans)
    for (std::int32_t x = s.begin; x < s.end; ++x) all.push_back(x);
  return all;
}

std::int32_t slice_of(const BlockMask& mask, std::int32_t token) {
  std::int32_t slice = 0;
  while (mask.block(slice).end <= token) ++slice;
  return slice;
}

bool holds_whole(const BlockMask& mask, std::int32_t slice, const std::vector<std::int32_t>& tokens) {
  const std::set<std::int32_t> set(tokens.begin(), tokens.end());
  for (std::int32_t t = mask.block(slice).begin; t < mask.block(slice).end; ++t)
    if (!set.contains(t)) return false;
  return true;
}

struct Brute {
  TileCount count;
  double coarse_tiles = 0;
};

Brute brute(const BlockMask& mask, std::span<const Span> heads, std::span<const Span> q, std::span<const Span> k) {
  Brute result;
  const std::vector<std::int32_t> q_tokens = members(q), k_tokens = members(k);
  std::set<std::tuple<int, int, int>> tiles;
  for (int h : members(heads)) {
    for (std::int32_t qt : q_tokens) {
      const std::int32_t qs = slice_of(mask, qt), qc = mask.coarse_block(qs);
      for (std::int32_t kt : k_tokens) {
        const std::int32_t ks = slice_of(mask, kt), kc = mask.coarse_block(ks);
        if (!mask.active(h, qc, kc)) continue;
        ++result.count.area;
        tiles.insert({h, qs, ks});
        const auto starts = mask.coarse_starts();
        result.coarse_tiles += 1.0 / (starts[qc + 1] - starts[qc]) / (starts[kc + 1] - starts[kc]);
      }
    }
  }
  result.count.tiles = static_cast<std::int64_t>(tiles.size());
  for (const auto& [h, qs, ks] : tiles)
    result.count.whole &= holds_whole(mask, qs, q_tokens) && holds_whole(mask, ks, k_tokens);
  return result;
}

void expect_equal_to_brute(const BlockMask& mask, std::span<const Span> heads, std::span<const Span> q,
                           std::span<const Span> k) {
  const Brute want = brute(mask, heads, q, k);
  const BlockCoverage q_cover = mask.cover(q), k_cover = mask.cover(k);
  const TileCount got = mask.count(heads, q_cover, k_cover);
  EXPECT_EQ(got.tiles, want.count.tiles);
  EXPECT_EQ(got.area, want.count.area);
  EXPECT_EQ(got.whole, want.count.whole);
  if (!q_cover.any_cut) {
    const TileCount by_columns = mask.count(mask.column_sums(heads, q_cover), k_cover);
    EXPECT_EQ(by_columns.tiles, want.count.tiles);
    EXPECT_EQ(by_columns.area, want.count.area);
    EXPECT_EQ(by_columns.whole, want.count.whole);
  }
  EXPECT_NEAR(mask.coarse_tiles(heads, q_cover, k_cover), want.coarse_tiles, 1e-9 * (1 + want.coarse_tiles));
}

TEST(BlockMask, CountsEqualTokenByTokenOnVariableBlocks) {
  Rng rng(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int heads = 1 + static_cast<int>(rng.below(4));
    const BlockMask mask = random_mask(rng, heads, random_starts(rng, 1 + rng.below(14), 5), rng.uniform());
    const BlockMask fine = mask.refine(1 + static_cast<int>(rng.below(4)));
    for (const BlockMask& m : {mask, fine}) {
      expect_equal_to_brute(m, random_set(rng, heads, 0.7), random_set(rng, m.tokens(), 0.6),
                            random_set(rng, m.tokens(), 0.6));
    }
  }
}

TEST(BlockMask, CountsEqualTokenByTokenOnUniformBlocksWithRaggedEnd) {
  Rng rng(12);
  for (int trial = 0; trial < 60; ++trial) {
    const int heads = 1 + static_cast<int>(rng.below(3)), block = 2 + static_cast<int>(rng.below(4));
    const int tokens = 7 + static_cast<int>(rng.below(60));
    const BlockMask mask = random_mask(rng, heads, BlockMask::uniform_starts(tokens, block), rng.uniform());
    const BlockMask fine = mask.refine(1 + static_cast<int>(rng.below(5))).refine(1 + static_cast<int>(rng.below(2)));
    for (const BlockMask& m : {mask, fine}) {
      const std::vector<Span> everything = {{0, tokens}};
      expect_equal_to_brute(m, random_set(rng, heads, 0.7), everything, random_set(rng, tokens, 0.5));
      expect_equal_to_brute(m, random_set(rng, heads, 0.7), random_set(rng, tokens, 0.5), everything);
    }
  }
}

// 150 blocks are three words: sets that start and end in different words, and more than a few odd columns.
TEST(BlockMask, CountsEqualTokenByTokenAcrossWords) {
  Rng rng(13);
  const BlockMask uniform = random_mask(rng, 2, BlockMask::uniform_starts(299, 2), 0.4);
  const BlockMask variable = random_mask(rng, 2, random_starts(rng, 150, 3), 0.4);
  for (const BlockMask& mask : {uniform, variable}) {
    for (int trial = 0; trial < 12; ++trial) {
      const auto begin = static_cast<std::int32_t>(rng.below(mask.tokens() - 1));
      const auto end = begin + 1 + static_cast<std::int32_t>(rng.below(mask.tokens() - begin));
      const std::vector<Span> heads = {{0, 2}}, keys = {{begin, end}};
      expect_equal_to_brute(mask, heads, random_set(rng, mask.tokens(), 0.2), keys);
    }
  }
}

TEST(BlockMask, EmptySetsCountNothingAndCutNothing) {
  Rng rng(14);
  const BlockMask mask = random_mask(rng, 2, BlockMask::uniform_starts(20, 6), 1.0);
  const std::vector<Span> none, heads = {{0, 2}}, some = {{1, 9}};
  expect_equal_to_brute(mask, heads, none, some);
  expect_equal_to_brute(mask, heads, some, none);
  expect_equal_to_brute(mask, none, some, some);
}

TEST(BlockMask, RefineSharesBitsAndKeepsDensity) {
  Rng rng(15);
  const BlockMask mask = random_mask(rng, 3, BlockMask::uniform_starts(50, 8), 0.5);
  const BlockMask fine = mask.refine(3);
  EXPECT_EQ(fine.row(0, 0).data(), mask.row(0, 0).data());
  EXPECT_TRUE(fine.refined());
  EXPECT_EQ(fine.coarse_blocks(), 7);
  EXPECT_EQ(fine.blocks(), 6 * 3 + 2);  // the last block has 2 tokens
  EXPECT_DOUBLE_EQ(fine.density(), mask.density());
  EXPECT_NE(fine.hash(), mask.hash());
}

TEST(BlockMask, DensityAndHeadAreaAreByArea) {
  BlockMask mask(2, {0, 4, 7});
  mask.set(0, 0, 1);  // 4 x 3
  mask.set(1, 1, 1);  // 3 x 3
  EXPECT_EQ(mask.head_area(0), 12);
  EXPECT_EQ(mask.head_area(1), 9);
  EXPECT_DOUBLE_EQ(mask.density(), 21.0 / (2 * 49));
}

TEST(BlockMask, CutKeepsEveryPairOfTokens) {
  Rng rng(17);
  const BlockMask mask = random_mask(rng, 2, {0, 5, 9, 14, 16}, 0.5);
  const auto block_of = [](const BlockMask& m, std::int32_t token) {
    std::int32_t block = 0;
    while (m.block(block).end <= token) ++block;
    return block;
  };
  for (std::int32_t token = 0; token <= mask.tokens(); ++token) {
    const BlockMask cut = mask.cut_at(token);
    const std::span<const std::int32_t> starts = cut.block_starts();
    EXPECT_NE(std::ranges::find(starts, token), starts.end()) << token;
    EXPECT_LE(cut.blocks(), mask.blocks() + 1);
    for (int h = 0; h < 2; ++h)
      for (std::int32_t q = 0; q < mask.tokens(); ++q)
        for (std::int32_t k = 0; k < mask.tokens(); ++k)
          EXPECT_EQ(cut.active(h, block_of(cut, q), block_of(cut, k)),
                    mask.active(h, block_of(mask, q), block_of(mask, k)));
  }
}

TEST(BlockMask, HashSeesEveryBitAndCut) {
  BlockMask mask(2, {0, 4, 8, 12});
  std::set<std::uint64_t> seen = {mask.hash(), BlockMask(2, {0, 4, 8, 11}).hash(), BlockMask(1, {0, 4, 8, 12}).hash()};
  EXPECT_EQ(seen.size(), 3u);
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        mask.set(h, i, j);
        EXPECT_TRUE(seen.insert(mask.hash()).second);
        mask.set(h, i, j, false);
      }
    }
  }
  EXPECT_EQ(mask.hash(), BlockMask(2, {0, 4, 8, 12}).hash());
}

TEST(BlockMaskDeathTest, SharedBitsCannotBeWritten) {
  BlockMask mask(1, {0, 4, 8});
  const BlockMask copy = mask;
  EXPECT_DEATH(mask.set(0, 0, 0), "use_count");
}

TEST(BlockMaskDeathTest, BlocksAboveTheLimitAreRefused) {
  EXPECT_DEATH(BlockMask(1, {0, kMaxBlockTokens + 1}), "kMaxBlockTokens");
  EXPECT_DEATH(BlockMask(1, {0, 4, 4}), "size >= 1");
}

}  // namespace
}  // namespace spscope
