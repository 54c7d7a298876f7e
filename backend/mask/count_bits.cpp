// Plain branches on a processor flag instead of ifunc clones: sanitizers and static linking break ifunc resolvers.
#include "backend/mask/count_bits.h"

#include <bit>

namespace spscope {
namespace {

// Rows of a chunk of 64 blocks or fewer touch one or two words; those cases get loops without an inner counter.
[[gnu::always_inline]] inline std::int64_t sum_rows(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                    std::span<const std::int32_t> rows, const std::uint64_t* filter,
                                                    std::int32_t first, std::int32_t last) {
  std::int64_t sum = 0;
  if (last - first == 1) {
    const std::uint64_t only = filter[first];
    for (std::int32_t r : rows) sum += std::popcount(matrix[r * words_per_row + first] & only);
  } else if (last - first == 2) {
    const std::uint64_t low = filter[first], high = filter[first + 1];
    for (std::int32_t r : rows) {
      const std::uint64_t* row = matrix + r * words_per_row + first;
      sum += std::popcount(row[0] & low) + std::popcount(row[1] & high);
    }
  } else {
    for (std::int32_t r : rows) {
      const std::uint64_t* row = matrix + r * words_per_row;
      for (std::int32_t w = first; w < last; ++w) sum += std::popcount(row[w] & filter[w]);
    }
  }
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("popcnt")]] std::int64_t sum_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                       std::span<const std::int32_t> rows, const std::uint64_t* filter,
                                                       std::int32_t first, std::int32_t last) {
  return sum_rows(matrix, words_per_row, rows, filter, first, last);
}
bool has_popcnt() { return __builtin_cpu_supports("popcnt") != 0; }
#else
std::int64_t sum_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                             std::span<const std::int32_t> rows, const std::uint64_t* filter, std::int32_t first,
                             std::int32_t last) {
  return sum_rows(matrix, words_per_row, rows, filter, first, last);
}
bool has_popcnt() { return true; }
#endif

}  // namespace

std::int64_t count_bits(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                        std::span<const std::uint64_t> filter, std::int32_t first, std::int32_t last) {
  static const bool fast = has_popcnt();
  return fast ? sum_rows_popcnt(matrix, words_per_row, rows, filter.data(), first, last)
              : sum_rows(matrix, words_per_row, rows, filter.data(), first, last);
}

}  // namespace spscope
