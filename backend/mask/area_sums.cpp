// A row's keys are sum over k of tokens(k) bit(k). With tokens(k) written in binary that is, for each binary digit p,
// 2^p times the bits under the blocks whose size has the digit: one popcount over all words where blocks are of 64
// tokens, and one over a single word for the ragged last block.
//
// Columns are counted without transposing: 64 columns to a word, counters of all columns are kept as bit planes, and
// rows are added to them eight at a time by carry-save adders (Harley and Seal), some 6 operations a word and row.
#include "backend/mask/area_sums.h"

#include <array>
#include <bit>
#include <span>
#include <utility>

#include "backend/mask/count_bits.h"

namespace spscope {
namespace {

constexpr int kDigits = std::bit_width(static_cast<unsigned>(kMaxBlockTokens));
constexpr std::size_t kGroup = 8;  // rows added at a time

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
  for (int head = 0; head < mask.heads(); ++head) {
    const std::uint64_t* matrix = mask.row(head, 0).data();
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
      std::int64_t keys = 0;
      for (const DigitBlocks& digit : digits)
        keys += digit.value * count_bits(matrix, mask.words_per_row(), {&q, 1}, digit.bits, digit.words);
      sums.row_keys[q] += keys;
      sums.heads[head] += keys * (starts[q + 1] - starts[q]);
    }
  }
}

// How many of the rows added so far have each bit set.
class ColumnCounter {
 public:
  explicit ColumnCounter(std::size_t num_words)
      : num_words_(num_words), ones_(num_words), twos_(num_words), fours_(num_words), high_(num_words * kHighPlanes) {}

  void add(const std::uint64_t* row) {
    pending_[num_pending_++] = row;
    if (num_pending_ == kGroup) flush();
  }

  // Adds value x count of each column.
  void add_counts(std::int64_t value, std::vector<std::int64_t>& columns) {
    const std::vector<std::uint64_t> zeros(num_words_, 0);
    while (num_pending_ > 0) add(zeros.data());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t w = c / 64, bit = c % 64;
      std::int64_t count = ((ones_[w] >> bit) & 1) + 2 * ((twos_[w] >> bit) & 1) + 4 * ((fours_[w] >> bit) & 1);
      for (std::size_t plane = 0; plane < kHighPlanes; ++plane)
        count += static_cast<std::int64_t>((high_[w * kHighPlanes + plane] >> bit) & 1) << (plane + 3);
      columns[c] += value * count;
    }
  }

 private:
  static constexpr std::size_t kHighPlanes = 29;  // heads x blocks stays below 2^32

  // Full adder of 64 columns: the sum stays in `low`, the carry is returned.
  static std::uint64_t add_bits(std::uint64_t& low, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t differ = low ^ a, carry = (low & a) | (differ & b);
    low = differ ^ b;
    return carry;
  }

  void flush() {
    for (std::size_t w = 0; w < num_words_; ++w) {
      std::uint64_t ones = ones_[w], twos = twos_[w], fours = fours_[w];
      const auto two = [&](std::size_t row) { return add_bits(ones, pending_[row][w], pending_[row + 1][w]); };
      const std::uint64_t two_a = two(0), two_b = two(2), four_a = add_bits(twos, two_a, two_b);
      const std::uint64_t two_c = two(4), two_d = two(6), four_b = add_bits(twos, two_c, two_d);
      std::uint64_t carry = add_bits(fours, four_a, four_b);
      ones_[w] = ones, twos_[w] = twos, fours_[w] = fours;
      for (std::uint64_t* plane = &high_[w * kHighPlanes]; carry != 0; ++plane) {
        const std::uint64_t before = *plane;
        *plane ^= carry;
        carry &= before;
      }
    }
    num_pending_ = 0;
  }

  std::size_t num_words_, num_pending_ = 0;
  std::array<const std::uint64_t*, kGroup> pending_ = {};
  // Digits of the counts, one bit a column: 1, 2, 4, and by word all higher ones.
  std::vector<std::uint64_t> ones_, twos_, fours_, high_;
};

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
