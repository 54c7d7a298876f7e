#include "bench/gpu/parts.h"

#include <algorithm>

#include "backend/base/check.h"

namespace spscope::gpu_check {
namespace {

// The part of each check: the dearest first, each into the part that costs least so far.
std::vector<int> part_of_checks(int n, int& dearest) {
  std::vector<std::size_t> order(checks().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [](std::size_t i) { return checks()[i].cost_s; });
  std::vector<int> cost_s(static_cast<std::size_t>(n), 0), part_of(order.size());
  for (const std::size_t i : order) {
    const auto cheapest = std::ranges::min_element(cost_s);
    *cheapest += checks()[i].cost_s;
    part_of[i] = static_cast<int>(cheapest - cost_s.begin());
  }
  dearest = *std::ranges::max_element(cost_s);
  return part_of;
}

}  // namespace

int fewest_parts() {
  for (int n = 1;; ++n) {
    int dearest = 0;
    part_of_checks(n, dearest);
    if (dearest <= kPartRoom || n == static_cast<int>(checks().size())) return n;
  }
}

std::vector<const Check*> part(int k, int n) {
  SPSCOPE_CHECK(1 <= k && k <= n);
  int dearest = 0;
  const std::vector<int> part_of = part_of_checks(n, dearest);
  std::vector<const Check*> chosen;
  for (std::size_t i = 0; i < part_of.size(); ++i)
    if (part_of[i] == k - 1) chosen.push_back(&checks()[i]);
  return chosen;
}

int timeout_s(const Check& check) { return std::min(2 * check.cost_s + 60, kPartRoom); }

}  // namespace spscope::gpu_check
