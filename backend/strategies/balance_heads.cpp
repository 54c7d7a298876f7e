#include "backend/strategies/balance_heads.h"

#include <algorithm>
#include <utility>

#include "backend/base/ids.h"

namespace spscope {
namespace {

void sort_each(IndexGroups& groups) {
  for (auto& group : groups) std::ranges::sort(group);
}

// An exchange of the heads at two positions of two groups.
struct Swap {
  std::size_t heavy = 0, light = 0;  // groups
  std::size_t heavy_position = 0, light_position = 0;
  double gain = 0;  // half of what the sum of squares of the two sums loses; 0: no exchange helps
};

// Keeps the better of `best` and the best exchange of two groups. With d = w(a) - w(b) moved across a gap between the
// sums, half of the sum of squares loses d (gap - d).
void consider_swaps(const IndexGroups& groups, std::span<const std::int64_t> weights,
                    std::span<const std::int64_t> sums, std::size_t heavy, std::size_t light, Swap& best) {
  const std::int64_t gap = sums[heavy] - sums[light];
  for (std::size_t a = 0; a < groups[heavy].size(); ++a)
    for (std::size_t b = 0; b < groups[light].size(); ++b) {
      const std::int64_t moved = weights[at(groups[heavy][a])] - weights[at(groups[light][b])];
      if (moved <= 0 || moved >= gap) continue;
      const double gain = static_cast<double>(moved) * static_cast<double>(gap - moved);
      if (gain > best.gain) best = {heavy, light, a, b, gain};
    }
}

Swap best_swap(const IndexGroups& groups, std::span<const std::int64_t> weights, std::span<const std::int64_t> sums) {
  Swap best;
  for (std::size_t heavy = 0; heavy < groups.size(); ++heavy)
    for (std::size_t light = 0; light < groups.size(); ++light)
      if (sums[heavy] > sums[light]) consider_swaps(groups, weights, sums, heavy, light, best);
  return best;
}

}  // namespace

IndexGroups balance_heads(std::span<const std::int64_t> weights, int num_groups) {
  const IndexGroups home = even_groups(static_cast<int>(weights.size()), num_groups);
  IndexGroups groups(home.size());
  std::vector<std::int64_t> sums(home.size(), 0);
  for (std::int32_t head : heaviest_first(weights)) {
    std::size_t lightest = home.size();
    for (std::size_t g = 0; g < home.size(); ++g)
      if (groups[g].size() < home[g].size() && (lightest == home.size() || sums[g] < sums[lightest])) lightest = g;
    groups[lightest].push_back(head);
    sums[lightest] += weights[at(head)];
  }
  sort_each(groups);
  return groups;
}

IndexGroups deal_uncapped(std::span<const std::int64_t> weights, int num_groups) {
  IndexGroups groups(at(num_groups));
  std::vector<std::int64_t> sums(groups.size(), 0);
  for (std::int32_t head : heaviest_first(weights)) {
    std::size_t lightest = 0;
    for (std::size_t g = 1; g < groups.size(); ++g)
      if (std::pair(sums[g], groups[g].size()) < std::pair(sums[lightest], groups[lightest].size())) lightest = g;
    groups[lightest].push_back(head);
    sums[lightest] += weights[at(head)];
  }
  sort_each(groups);
  return groups;
}

IndexGroups refine_by_swaps(IndexGroups groups, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> sums = group_sums(groups, weights);
  for (Swap swap = best_swap(groups, weights, sums); swap.gain > 0; swap = best_swap(groups, weights, sums)) {
    std::int32_t &a = groups[swap.heavy][swap.heavy_position], &b = groups[swap.light][swap.light_position];
    const std::int64_t moved = weights[at(a)] - weights[at(b)];
    sums[swap.heavy] -= moved;
    sums[swap.light] += moved;
    std::swap(a, b);
  }
  sort_each(groups);
  return groups;
}

IndexGroups deal_snake(std::span<const std::int64_t> weights, int num_groups) {
  IndexGroups groups(at(num_groups));
  int dealt = 0;
  for (std::int32_t head : heaviest_first(weights)) {
    const int round = dealt / num_groups, position = dealt % num_groups;
    groups[at(round % 2 == 0 ? position : num_groups - 1 - position)].push_back(head);
    ++dealt;
  }
  sort_each(groups);
  return groups;
}

}  // namespace spscope
