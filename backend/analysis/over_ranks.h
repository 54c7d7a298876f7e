// How figures of ranks stand to the mean over them.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace spscope {

// 0 without ranks.
template <typename T>
double mean_over_ranks(const std::vector<T>& by_rank) {
  return by_rank.empty() ? 0
                         : std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / static_cast<double>(by_rank.size());
}

// How far a rank is above the mean: 0.31; 0 where that is not known.
template <typename T>
double above_mean(const std::vector<T>& by_rank, std::size_t rank) {
  const double mean = mean_over_ranks(by_rank);
  return rank < by_rank.size() && mean > 0 ? static_cast<double>(by_rank[rank]) / mean - 1 : 0;
}

}  // namespace spscope
