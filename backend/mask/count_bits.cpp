// Plain branches on a processor flag instead of ifunc clones: sanitizers and static linking break ifunc resolvers.
#include "backend/mask/count_bits.h"

#include <bit>

namespace spscope {
namespace {

// Keys of a chunk of 64 blocks or fewer touch one or two words: those cases get loops without an inner counter. Keys
// dealt out cyclically touch words with gaps: those are listed.
[[gnu::always_inline]] inline std::int64_t sum_rows(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                    std::span<const std::int32_t> rows, const std::uint64_t* filter,
                                                    std::span<const std::int32_t> words) {
  std::int64_t sum = 0;
  if (words.empty()) return sum;
  const std::int32_t first = words.front(), num_words = words.back() - first + 1;
  const std::uint64_t* from = matrix + first;
  filter += first;
  if (num_words == 1) {
    for (std::int32_t r : rows) sum += std::popcount(from[r * words_per_row] & filter[0]);
  } else if (num_words == 2) {
    for (std::int32_t r : rows) {
      const std::uint64_t* row = from + r * words_per_row;
      sum += std::popcount(row[0] & filter[0]) + std::popcount(row[1] & filter[1]);
    }
  } else if (words.size() == static_cast<std::size_t>(num_words)) {
    for (std::int32_t r : rows) {
      const std::uint64_t* row = from + r * words_per_row;
      for (std::int32_t w = 0; w < num_words; ++w) sum += std::popcount(row[w] & filter[w]);
    }
  } else {
    for (std::int32_t r : rows) {
      const std::uint64_t* row = from + r * words_per_row;
      for (std::int32_t w : words) sum += std::popcount(row[w - first] & filter[w - first]);
    }
  }
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("popcnt")]] std::int64_t sum_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                       std::span<const std::int32_t> rows, const std::uint64_t* filter,
                                                       std::span<const std::int32_t> words) {
  return sum_rows(matrix, words_per_row, rows, filter, words);
}
bool has_popcnt() { return __builtin_cpu_supports("popcnt") != 0; }
#else
std::int64_t sum_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                             std::span<const std::int32_t> rows, const std::uint64_t* filter,
                             std::span<const std::int32_t> words) {
  return sum_rows(matrix, words_per_row, rows, filter, words);
}
bool has_popcnt() { return true; }
#endif

}  // namespace

std::int64_t count_bits(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                        std::span<const std::uint64_t> filter, std::span<const std::int32_t> words) {
  static const bool fast = has_popcnt();
  return fast ? sum_rows_popcnt(matrix, words_per_row, rows, filter.data(), words)
              : sum_rows(matrix, words_per_row, rows, filter.data(), words);
}

}  // namespace spscope
