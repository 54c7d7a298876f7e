#include "backend/mask/area_sums.h"

#include <gtest/gtest.h>

#include "backend/base/rng.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

BlockMask random_mask(int heads, std::vector<std::int32_t> starts, double density, std::uint64_t seed) {
  Rng rng(seed);
  return testing::mask_where(heads, std::move(starts), [&](int, int, int) { return rng.uniform() < density; });
}

void expect_sums_of_single_bits(const BlockMask& mask) {
  const AreaSums sums = area_sums(mask);
  const auto starts = mask.coarse_starts();
  AreaSums expected{std::vector<std::int64_t>(mask.heads()), std::vector<std::int64_t>(mask.coarse_blocks()),
                    std::vector<std::int64_t>(mask.coarse_blocks())};
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      for (std::int32_t k = 0; k < mask.coarse_blocks(); ++k) {
        if (!mask.active(head, q, k)) continue;
        const std::int64_t queries = starts[q + 1] - starts[q], keys = starts[k + 1] - starts[k];
        expected.heads[head] += queries * keys;
        expected.row_keys[q] += keys;
        expected.column_queries[k] += queries;
      }
  EXPECT_EQ(sums.heads, expected.heads);
  EXPECT_EQ(sums.row_keys, expected.row_keys);
  EXPECT_EQ(sums.column_queries, expected.column_queries);
}

TEST(AreaSums, AreThoseOfSingleBits) {
  Rng rng(3);
  std::vector<std::int32_t> any_size = {0};
  for (int b = 0; b < 97; ++b)
    any_size.push_back(any_size.back() + 1 + static_cast<std::int32_t>(rng.uniform() * kMaxBlockTokens));
  expect_sums_of_single_bits(random_mask(5, BlockMask::uniform_starts(64 * 130 + 16, 64), 0.4, 1));
  expect_sums_of_single_bits(random_mask(40, BlockMask::uniform_starts(1000, 10), 0.97, 2));
  expect_sums_of_single_bits(random_mask(3, any_size, 0.3, 4));
  expect_sums_of_single_bits(random_mask(1, {0, 17}, 1.0, 5));
  expect_sums_of_single_bits(random_mask(2, {0, 5, 9}, 0.0, 6));
}

// A refined mask keeps its bits: sums are of coarse blocks.
TEST(AreaSums, IgnoreSlices) {
  const BlockMask mask = random_mask(2, BlockMask::uniform_starts(100, 16), 0.5, 7);
  EXPECT_EQ(area_sums(mask.refine(3)).row_keys, area_sums(mask).row_keys);
}

}  // namespace
}  // namespace spscope
