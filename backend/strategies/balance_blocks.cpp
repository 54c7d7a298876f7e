#include "backend/strategies/balance_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/base/ids.h"

namespace spscope {
namespace {

// Group of each index.
std::vector<std::int32_t> owners(const IndexGroups& groups) {
  std::size_t num_indices = 0;
  for (const auto& group : groups) num_indices += group.size();
  std::vector<std::int32_t> owner(num_indices);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::int32_t i : groups[g]) owner[at(i)] = static_cast<std::int32_t>(g);
  return owner;
}

}  // namespace

IndexGroups balance_blocks(std::span<const std::int64_t> weights, int num_groups, double reward) {
  const IndexGroups home = even_groups(static_cast<int>(weights.size()), num_groups);
  const std::vector<std::int32_t> home_of = owners(home);
  IndexGroups groups(home.size());
  std::vector<double> sums(home.size(), 0);
  for (std::int32_t block : heaviest_first(weights)) {
    const auto weight = static_cast<double>(weights[at(block)]);
    std::size_t cheapest = home.size();
    double least = 0;
    for (std::size_t g = 0; g < home.size(); ++g) {
      if (groups[g].size() == home[g].size()) continue;
      const double cost = sums[g] - (home_of[at(block)] == static_cast<std::int32_t>(g) ? reward * weight : 0);
      if (cheapest != home.size() && cost >= least) continue;
      cheapest = g;
      least = cost;
    }
    groups[cheapest].push_back(block);
    sums[cheapest] += weight;
  }
  for (auto& group : groups) std::ranges::sort(group);
  return groups;
}

TransferMatrix transfer_matrix(const IndexGroups& home, const IndexGroups& groups) {
  TransferMatrix transfers(home.size(), std::vector<std::int32_t>(groups.size(), 0));
  const std::vector<std::int32_t> owner = owners(groups);
  for (std::size_t from = 0; from < home.size(); ++from)
    for (std::int32_t block : home[from]) ++transfers[from][at(owner[at(block)])];
  return transfers;
}

double moved_fraction(const TransferMatrix& transfers) {
  std::int64_t all = 0, stay = 0;
  for (std::size_t from = 0; from < transfers.size(); ++from) {
    all = std::accumulate(transfers[from].begin(), transfers[from].end(), all);
    stay += transfers[from][from];
  }
  return all == 0 ? 0 : 1 - static_cast<double>(stay) / static_cast<double>(all);
}

}  // namespace spscope
