// The loops for every instruction set that this processor supports, and sums of areas, against single bits.
#include "backend/mask/count_bits.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/base/rng.h"
#include "backend/mask/area_sums.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

constexpr int kRows = 24;

// Words of random bits, and which of them a filter of given words keeps.
struct Matrix {
  std::int32_t num_words;
  std::vector<std::uint64_t> bits, filter;
  bool bit(int row, std::int32_t column) const {
    return (bits[static_cast<std::size_t>(row * num_words + column / 64)] >> (column % 64)) & 1;
  }
  bool kept(std::int32_t column) const { return (filter[static_cast<std::size_t>(column / 64)] >> (column % 64)) & 1; }
  std::int64_t count(int row) const {
    std::int64_t sum = 0;
    for (std::int32_t c = 0; c < num_words * 64; ++c) sum += bit(row, c) && kept(c);
    return sum;
  }
};

Matrix random_matrix(std::int32_t num_words, const std::vector<std::int32_t>& words) {
  Matrix m{num_words, {}, std::vector<std::uint64_t>(static_cast<std::size_t>(num_words), 0)};
  Rng rng(static_cast<std::uint64_t>(num_words));
  for (int i = 0; i < kRows * num_words; ++i) m.bits.push_back(rng.bits());
  for (std::int32_t w : words) m.filter[static_cast<std::size_t>(w)] = rng.bits() | 1;
  return m;
}

struct Case {
  std::int32_t num_words;
  std::vector<std::int32_t> words;
};

const std::vector<Case> kCases = {{1, {0}},
                                  {2, {0, 1}},
                                  {3, {1}},
                                  {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                                  {9, {7, 8}},
                                  {11, {}},
                                  {19, {0, 3, 9, 18}},
                                  {17, {2, 3, 4, 5, 6, 7, 8, 9, 10}},
                                  {19, {16, 17, 18}}};

TEST(CountingLoops, CountListedRows) {
  const std::vector<std::int32_t> rows = {0, 1, 5, 22, 23};
  for (const CountingLoops& loops : counting_loops())
    for (const Case& c : kCases) {
      const Matrix m = random_matrix(c.num_words, c.words);
      std::int64_t expected = 0;
      for (std::int32_t row : rows) expected += m.count(row);
      EXPECT_EQ(loops.sum_rows(m.bits.data(), c.num_words, rows, m.filter.data(), c.words), expected)
          << loops.name << ", " << c.num_words << " words";
    }
}

TEST(CountingLoops, CountEachRow) {
  for (const CountingLoops& loops : counting_loops())
    for (const Case& c : kCases) {
      const Matrix m = random_matrix(c.num_words, c.words);
      std::vector<std::int64_t> sums(kRows, 5);
      loops.add_rows(m.bits.data(), c.num_words, m.filter.data(), c.words, 3, sums);
      for (int row = 0; row < kRows; ++row)
        EXPECT_EQ(sums[static_cast<std::size_t>(row)], 5 + 3 * m.count(row)) << loops.name << ", " << c.num_words;
    }
}

TEST(CountingLoops, CountColumns) {
  constexpr int kPlanes = 5;  // 24 rows
  for (const CountingLoops& loops : counting_loops())
    for (const Case& c : kCases) {
      const Matrix m = random_matrix(c.num_words, c.words);
      const auto words = static_cast<std::size_t>(c.num_words);
      std::vector<std::uint64_t> planes(words * kPlanes), carry(words);
      for (int row = 0; row < kRows; row += 8) {
        std::array<const std::uint64_t*, 8> rows;
        for (int i = 0; i < 8; ++i) rows[static_cast<std::size_t>(i)] = &m.bits[(row + i) * words];
        loops.add_eight(rows, planes.data(), kPlanes, carry.data(), words);
      }
      for (std::int32_t column = 0; column < c.num_words * 64; ++column) {
        int counted = 0, expected = 0;
        for (std::size_t p = 0; p < kPlanes; ++p)
          counted += static_cast<int>((planes[p * words + column / 64] >> (column % 64)) & 1) << p;
        for (int row = 0; row < kRows; ++row) expected += m.bit(row, column);
        ASSERT_EQ(counted, expected) << loops.name << ", column " << column << " of " << c.num_words << " words";
      }
    }
}

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
