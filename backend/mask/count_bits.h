// The inner loops of all tile counts, over rows of a bit matrix: row r starts at matrix[r * words_per_row]. On x86-64
// they are compiled for AVX-512, for POPCNT and for the baseline, and chosen at run time, so that a program built for
// the baseline still counts at full speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace spscope {

// Number of set bits of `rows` & `filter`. Reads only the words in `words` (ascending indices).
std::int64_t count_bits(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                        std::span<const std::uint64_t> filter, std::span<const std::int32_t> words);

// For each row r < sums.size(): adds weight x set bits of (row r & `filter`) to sums[r].
void add_bits_of_rows(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::uint64_t> filter,
                      std::span<const std::int32_t> words, std::int64_t weight, std::span<std::int64_t> sums);

// Adds eight rows to counts of how many rows have each bit set, by carry-save adders (Harley and Seal). Counts are
// binary digits: planes[p x carry.size() + w] holds digit p of the 64 columns of word w. Only the first `num_planes`
// digits are touched, at least 4, which must hold the counts; `carry` is scratch, one word a word of the rows.
void add_eight_rows(const std::array<const std::uint64_t*, 8>& rows, std::span<std::uint64_t> planes, int num_planes,
                    std::span<std::uint64_t> carry);

// The loops compiled for one instruction set.
struct CountingLoops {
  const char* name;
  std::int64_t (*sum_rows)(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                           const std::uint64_t* filter, std::span<const std::int32_t> words);
  void (*add_rows)(const std::uint64_t* matrix, std::int64_t words_per_row, const std::uint64_t* filter,
                   std::span<const std::int32_t> words, std::int64_t weight, std::span<std::int64_t> sums);
  void (*add_eight)(const std::array<const std::uint64_t*, 8>& rows, std::uint64_t* planes, int num_planes,
                    std::uint64_t* carry, std::size_t num_words);
};
// Those that this processor can run, the fastest last; the functions above take the last. For tests.
std::span<const CountingLoops> counting_loops();

}  // namespace spscope
