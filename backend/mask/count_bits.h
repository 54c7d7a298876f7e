// The inner loop of all tile counts: set bits under a column filter, summed over rows of a bit matrix. It is compiled
// twice on x86-64, with and without the POPCNT instruction, and chosen at run time, so that a program built for the
// oldest processors still counts at full speed.
#pragma once

#include <cstdint>
#include <span>

namespace spscope {

// Set bits of `rows` & `filter`. Row r starts at matrix[r * words_per_row]; only `words` are looked at (ascending).
std::int64_t count_bits(const std::uint64_t* matrix, std::int64_t words_per_row, std::span<const std::int32_t> rows,
                        std::span<const std::uint64_t> filter, std::span<const std::int32_t> words);

}  // namespace spscope
