// Plain branches on a processor flag instead of ifunc clones: sanitizers and static linking break ifunc resolvers.
#include "backend/mask/count_bits.h"

#include <bit>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

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

[[gnu::always_inline]] inline void add_rows(const std::uint64_t* matrix, std::int64_t words_per_row,
                                            const std::uint64_t* filter, std::span<const std::int32_t> words,
                                            std::int64_t weight, std::span<std::int64_t> sums) {
  for (std::int64_t& sum : sums) {
    std::int64_t bits = 0;
    for (std::int32_t w : words) bits += std::popcount(matrix[w] & filter[w]);
    sum += weight * bits;
    matrix += words_per_row;
  }
}

// Full adder of 64 columns: the sum stays in `low`, the carry is returned.
[[gnu::always_inline]] inline std::uint64_t add_bits(std::uint64_t& low, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t differ = low ^ a, carry = (low & a) | (differ & b);
  low = differ ^ b;
  return carry;
}

[[gnu::always_inline]] inline void add_eight(const std::array<const std::uint64_t*, 8>& rows, std::uint64_t* planes,
                                             int num_planes, std::uint64_t* carry, std::size_t num_words) {
  const auto [a, b, c, d, e, f, g, h] = rows;
  std::uint64_t *ones = planes, *twos = planes + num_words, *fours = planes + 2 * num_words;
#pragma GCC ivdep
  for (std::size_t w = 0; w < num_words; ++w) {
    std::uint64_t one = ones[w], two = twos[w], four = fours[w];
    const std::uint64_t two_a = add_bits(one, a[w], b[w]), two_b = add_bits(one, c[w], d[w]);
    const std::uint64_t four_a = add_bits(two, two_a, two_b);
    const std::uint64_t two_c = add_bits(one, e[w], f[w]), two_d = add_bits(one, g[w], h[w]);
    const std::uint64_t four_b = add_bits(two, two_c, two_d);
    carry[w] = add_bits(four, four_a, four_b);
    ones[w] = one;
    twos[w] = two;
    fours[w] = four;
  }
  for (int p = 3; p < num_planes; ++p) {
    std::uint64_t* plane = planes + static_cast<std::size_t>(p) * num_words;
#pragma GCC ivdep
    for (std::size_t w = 0; w < num_words; ++w) {
      const std::uint64_t before = plane[w];
      plane[w] = before ^ carry[w];
      carry[w] &= before;
    }
  }
}

std::int64_t sum_rows_portable(const std::uint64_t* matrix, std::int64_t words_per_row,
                               std::span<const std::int32_t> rows, const std::uint64_t* filter,
                               std::span<const std::int32_t> words) {
  return sum_rows(matrix, words_per_row, rows, filter, words);
}

void add_rows_portable(const std::uint64_t* matrix, std::int64_t words_per_row, const std::uint64_t* filter,
                       std::span<const std::int32_t> words, std::int64_t weight, std::span<std::int64_t> sums) {
  add_rows(matrix, words_per_row, filter, words, weight, sums);
}

void add_eight_portable(const std::array<const std::uint64_t*, 8>& rows, std::uint64_t* planes, int num_planes,
                        std::uint64_t* carry, std::size_t num_words) {
  add_eight(rows, planes, num_planes, carry, num_words);
}

constexpr CountingLoops kPortable = {"portable", sum_rows_portable, add_rows_portable, add_eight_portable};

#ifdef __x86_64__
[[gnu::target("popcnt")]] std::int64_t sum_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                       std::span<const std::int32_t> rows, const std::uint64_t* filter,
                                                       std::span<const std::int32_t> words) {
  return sum_rows(matrix, words_per_row, rows, filter, words);
}

[[gnu::target("popcnt")]] void add_rows_popcnt(const std::uint64_t* matrix, std::int64_t words_per_row,
                                               const std::uint64_t* filter, std::span<const std::int32_t> words,
                                               std::int64_t weight, std::span<std::int64_t> sums) {
  add_rows(matrix, words_per_row, filter, words, weight, sums);
}

// Lanes of a vector of eight words that begin `left` words before the end.
// The processor keeps the upper halves of registers alive until they are cleared, and code for narrow ones, as
// everything else here is, is many times slower until then. Compilers clear them from -O2 on.
[[gnu::target("avx512f")]] void leave_wide_registers() { _mm256_zeroupper(); }

[[gnu::target("avx512f")]] __mmask8 lanes_of(std::int32_t left) {
  return static_cast<__mmask8>(left >= 8 ? 0xff : (1 << left) - 1);
}

[[gnu::target("avx512f")]] std::int64_t total_of(__m512i sums) {
  std::int64_t lanes[8], total = 0;
  _mm512_storeu_si512(lanes, sums);
  for (std::int64_t lane : lanes) total += lane;
  return total;
}

// Eight words at a time: keys that are dealt out over the whole row cost hardly more than neighbours.
[[gnu::target("avx512f,avx512vpopcntdq")]] std::int64_t sum_rows_avx512(const std::uint64_t* matrix,
                                                                        std::int64_t words_per_row,
                                                                        std::span<const std::int32_t> rows,
                                                                        const std::uint64_t* filter,
                                                                        std::span<const std::int32_t> words) {
  if (words.empty()) return 0;
  __m512i sums = _mm512_setzero_si512();
  for (std::int32_t w = words.front(), end = words.back() + 1; w < end; w += 8) {
    const __mmask8 lanes = lanes_of(end - w);
    const __m512i kept = _mm512_maskz_loadu_epi64(lanes, filter + w);
    for (std::int32_t r : rows) {
      const __m512i row = _mm512_maskz_loadu_epi64(lanes, matrix + r * words_per_row + w);
      sums = _mm512_add_epi64(sums, _mm512_popcnt_epi64(_mm512_and_si512(row, kept)));
    }
  }
  const std::int64_t total = total_of(sums);
  leave_wide_registers();
  return total;
}

[[gnu::target("avx512f,avx512vpopcntdq")]] void add_rows_avx512(const std::uint64_t* matrix, std::int64_t words_per_row,
                                                                const std::uint64_t* filter,
                                                                std::span<const std::int32_t> words,
                                                                std::int64_t weight, std::span<std::int64_t> sums) {
  if (words.empty()) return;
  const std::int32_t begin = words.front(), end = words.back() + 1;
  for (std::int64_t& sum : sums) {
    __m512i bits = _mm512_setzero_si512();
    for (std::int32_t w = begin; w < end; w += 8) {
      const __mmask8 lanes = lanes_of(end - w);
      const __m512i row = _mm512_maskz_loadu_epi64(lanes, matrix + w);
      bits = _mm512_add_epi64(bits,
                              _mm512_popcnt_epi64(_mm512_and_si512(row, _mm512_maskz_loadu_epi64(lanes, filter + w))));
    }
    sum += weight * total_of(bits);
    matrix += words_per_row;
  }
  leave_wide_registers();
}

[[gnu::target("avx512f")]] void add_eight_avx512(const std::array<const std::uint64_t*, 8>& rows, std::uint64_t* planes,
                                                 int num_planes, std::uint64_t* carry, std::size_t num_words) {
  add_eight(rows, planes, num_planes, carry, num_words);
  leave_wide_registers();
}

std::vector<CountingLoops> loops_of_this_processor() {
  std::vector<CountingLoops> loops = {kPortable};
  if (__builtin_cpu_supports("popcnt"))
    loops.push_back({"popcnt", sum_rows_popcnt, add_rows_popcnt, add_eight_portable});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
    loops.push_back({"avx512", sum_rows_avx512, add_rows_avx512, add_eight_avx512});
  return loops;
}
#else
std::vector<CountingLoops> loops_of_this_processor() { return {kPortable}; }
#endif

}  // namespace

std::span<const CountingLoops> counting_loops() {
  static const std::vector<CountingLoops> loops = loops_of_this_processor();
  return loops;
}

std::int64_t count_bits(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                        std::span<const std::uint64_t> filter, std::span<const std::int32_t> words) {
  return counting_loops().back().sum_rows(matrix, words_per_row, rows, filter.data(), words);
}

void add_bits_of_rows(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::uint64_t> filter,
                      std::span<const std::int32_t> words, std::int64_t weight, std::span<std::int64_t> sums) {
  counting_loops().back().add_rows(matrix, words_per_row, filter.data(), words, weight, sums);
}

void add_eight_rows(const std::array<const std::uint64_t*, 8>& rows, std::span<std::uint64_t> planes, int num_planes,
                    std::span<std::uint64_t> carry) {
  counting_loops().back().add_eight(rows, planes.data(), num_planes, carry.data(), carry.size());
}

}  // namespace spscope
