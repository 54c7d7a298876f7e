// A row's keys are sum over k of tokens(k) bit(k). With tokens(k) written in binary that is, for each binary digit p,
// 2^p times the bits under the blocks whose size has the digit: one popcount over all words where blocks are of 64
// tokens, and one over a single word for the ragged last block.
#include "backend/mask/area_sums.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "backend/mask/column_counter.h"
#include "backend/mask/count_bits.h"

namespace spscope {
namespace {

constexpr int kDigits = std::bit_width(static_cast<unsigned>(kMaxBlockTokens));

// Blocks whose number of tokens has one binary digit set.
struct DigitBlocks {
  std::int64_t value;                // of the digit
  std::vector<std::int32_t> blocks;  // ascending
  std::vector<std::uint64_t> bits;   // the same, one bit a block
  std::vector<std::int32_t> words;   // of `bits` that are not zero
};

std::vector<DigitBlocks> blocks_by_digit(const BlockMask& mask) {
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  std::vector<DigitBlocks> digits;
  for (int p = 0; p < kDigits; ++p) {
    DigitBlocks digit{std::int64_t{1} << p, {}, std::vector<std::uint64_t>(mask.words_per_row(), 0), {}};
    for (std::int32_t b = 0; b < mask.coarse_blocks(); ++b) {
      if (((starts[b + 1] - starts[b]) & digit.value) == 0) continue;
      digit.blocks.push_back(b);
      digit.bits[b / 64] |= std::uint64_t{1} << (b % 64);
    }
    for (std::int32_t w = 0; w < mask.words_per_row(); ++w)
      if (digit.bits[w] != 0) digit.words.push_back(w);
    if (!digit.blocks.empty()) digits.push_back(std::move(digit));
  }
  return digits;
}

void sum_rows(const BlockMask& mask, std::span<const DigitBlocks> digits, AreaSums& sums) {
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  std::vector<std::int64_t> keys(static_cast<std::size_t>(mask.coarse_blocks()));
  for (int head = 0; head < mask.heads(); ++head) {
    std::ranges::fill(keys, 0);
    for (const DigitBlocks& digit : digits)
      add_bits_of_rows(mask.row(head, 0).data(), mask.words_per_row(), digit.bits, digit.words, digit.value, keys);
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
      sums.row_keys[q] += keys[q];
      sums.heads[head] += keys[q] * (starts[q + 1] - starts[q]);
    }
  }
}

}  // namespace

AreaSums area_sums(const BlockMask& mask) {
  const auto blocks = static_cast<std::size_t>(mask.coarse_blocks());
  AreaSums sums{std::vector<std::int64_t>(mask.heads(), 0), std::vector<std::int64_t>(blocks, 0),
                std::vector<std::int64_t>(blocks, 0)};
  const std::vector<DigitBlocks> digits = blocks_by_digit(mask);
  sum_rows(mask, digits, sums);
  for (const DigitBlocks& digit : digits) {
    ColumnCounter counter(static_cast<std::size_t>(mask.words_per_row()));
    for (int head = 0; head < mask.heads(); ++head)
      for (std::int32_t q : digit.blocks) counter.add(mask.row(head, q).data());
    counter.add_counts(digit.value, sums.column_queries);
  }
  return sums;
}

}  // namespace spscope
