// The middle of several measurements, by one convention: the median is a value that was measured, of an even number the
// lower of the two in the middle. For times that is the faster one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// Where the median lies among that many sorted values. REQUIRES: count >= 1.
constexpr std::size_t median_index(std::size_t count) { return (count - 1) / 2; }

// REQUIRES: not empty, no NaN.
double median(std::vector<double> values);
std::int64_t median(std::vector<std::int64_t> values);

// The value that a share q of the sorted ones lie below, linear between neighbours: 0 is the first, 1 the last, 0.25
// and 0.75 the quartiles. REQUIRES: not empty, sorted, q in [0, 1].
double quantile(std::span<const std::int64_t> sorted, double q);

}  // namespace spscope
