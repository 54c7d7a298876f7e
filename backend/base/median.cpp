#include "backend/base/median.h"

#include <algorithm>
#include <cmath>

#include "backend/base/check.h"

namespace spscope {
namespace {

template <typename T>
T middle_of(std::vector<T>& values) {
  SPSCOPE_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(median_index(values.size()));
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

double median(std::vector<double> values) { return middle_of(values); }
std::int64_t median(std::vector<std::int64_t> values) { return middle_of(values); }

double quantile(std::span<const std::int64_t> sorted, double q) {
  SPSCOPE_CHECK(!sorted.empty() && q >= 0 && q <= 1);
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(static_cast<double>(sorted[below]), static_cast<double>(sorted[above]),
                   place - static_cast<double>(below));
}

}  // namespace spscope
