#include "backend/strategies/index_groups.h"

#include <algorithm>
#include <numeric>

#include "backend/base/check.h"

namespace spscope {

IndexGroups even_groups(int num_indices, int num_groups) {
  IndexGroups groups(static_cast<std::size_t>(num_groups));
  for (std::int64_t g = 0; g < num_groups; ++g) {
    const std::int64_t begin = num_indices * g / num_groups, end = num_indices * (g + 1) / num_groups;
    for (std::int64_t i = begin; i < end; ++i)
      groups[static_cast<std::size_t>(g)].push_back(static_cast<std::int32_t>(i));
  }
  return groups;
}

IndexGroups cyclic_groups(int num_indices, int num_groups) {
  IndexGroups groups(static_cast<std::size_t>(num_groups));
  for (std::int32_t i = 0; i < num_indices; ++i) groups[static_cast<std::size_t>(i % num_groups)].push_back(i);
  return groups;
}

std::vector<std::int32_t> heaviest_first(std::span<const std::int64_t> weights) {
  std::vector<std::int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
    return weights[static_cast<std::size_t>(a)] > weights[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<std::int64_t> group_sums(const IndexGroups& groups, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> sums;
  for (const auto& group : groups) {
    sums.push_back(0);
    for (std::int32_t i : group) sums.back() += weights[static_cast<std::size_t>(i)];
  }
  return sums;
}

double imbalance_ratio_of(std::span<const std::int64_t> sums) {
  SPSCOPE_CHECK(!sums.empty());
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(sums.size());
  return mean == 0 ? 1 : static_cast<double>(*std::ranges::max_element(sums)) / mean;
}

}  // namespace spscope
