// MaskCounter against BlockMask::count, before and after it makes column sums of rows that are asked for often.
#include "backend/plan/mask_counter.h"

#include <gtest/gtest.h>

#include "backend/base/rng.h"

namespace spscope {
namespace {

TEST(MaskCounter, CountsTheSameHoweverOftenRowsAreAskedFor) {
  constexpr int kHeads = 6, kBlocks = 96, kTokens = kBlocks * 8 - 3;  // the last block is ragged
  BlockMask mask(kHeads, BlockMask::uniform_starts(kTokens, 8));
  Rng rng(5);
  for (int head = 0; head < kHeads; ++head)
    for (int q = 0; q < kBlocks; ++q)
      for (int k = 0; k < kBlocks; ++k)
        if (rng.uniform() < 0.3) mask.set(head, q, k);
  const auto sets = std::make_shared<SetTable>();
  MaskCounter counter(sets, mask);
  const auto check = [&](SetId heads, SetId q, SetId k) {
    const TileCount got = counter.count(heads, q, k);
    const TileCount want = mask.count(sets->spans(heads), mask.cover(sets->spans(q)), mask.cover(sets->spans(k)));
    EXPECT_EQ(got.tiles, want.tiles);
    EXPECT_EQ(got.area, want.area);
    EXPECT_EQ(got.whole, want.whole);
  };
  for (const Span heads : {Span{0, kHeads}, Span{1, 3}})
    for (const Span q : {Span{0, kTokens}, Span{80, 400}, Span{320, kTokens}, Span{81, 399}})
      for (int step = 0; step < 60; ++step) {
        const int begin = 12 * step % (kTokens - 40);
        check(sets->span(heads.begin, heads.end), sets->span(q.begin, q.end), sets->span(begin, begin + 8 + step % 29));
      }
}

}  // namespace
}  // namespace spscope
