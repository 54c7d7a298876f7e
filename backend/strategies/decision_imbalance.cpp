#include "backend/strategies/decision_imbalance.h"

#include <algorithm>
#include <numeric>

#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

std::vector<SetId> tokens_or_even(const Request& request, const IndexGroups& blocks, int ring) {
  return tokens_of(request, blocks.empty() ? even_groups(num_cut_blocks(request), ring) : blocks);
}

}  // namespace

std::vector<std::int64_t> tile_areas(const Request& request, const Decision& decision, MaskCounter& mask) {
  const std::vector<SetId> heads =
      heads_of(request, decision.heads.empty() ? even_groups(request.heads, decision.ulysses) : decision.heads);
  const std::vector<SetId> rows = tokens_or_even(request, decision.query_blocks, decision.ring);
  const std::vector<SetId> keys = tokens_or_even(request, decision.key_blocks, decision.ring);
  std::vector<std::int64_t> areas;
  for (SetId h : heads)
    for (SetId q : rows)
      for (SetId k : keys) areas.push_back(mask.count(h, q, k).area);
  return areas;
}

double barrier_ratio(std::int64_t ring, const std::vector<std::int64_t>& areas) {
  const std::int64_t total = std::accumulate(areas.begin(), areas.end(), std::int64_t{0});
  if (total == 0) return 1;
  const auto ranks = static_cast<std::int64_t>(areas.size()) / ring;
  std::int64_t slowest = 0;
  for (std::int64_t first = 0; first < ranks; first += ring) {  // first rank of a ring
    std::int64_t waited = 0;
    for (std::int64_t step = 0; step < ring; ++step) {
      std::int64_t longest = 0;
      for (std::int64_t a = 0; a < ring; ++a)
        longest = std::max(longest, areas[static_cast<std::size_t>((first + a) * ring + (a + ring - step) % ring)]);
      waited += longest;
    }
    slowest = std::max(slowest, waited);
  }
  return static_cast<double>(slowest) * static_cast<double>(ranks) / static_cast<double>(total);
}

double decision_imbalance(const Request& request, const Decision& decision) {
  MaskCounter* known = request.known_mask(spread_axis(request));
  return known ? barrier_ratio(decision.ring, tile_areas(request, decision, *known)) : 1;
}

double executed_imbalance(const Request& request, const Decision& decision) {
  return barrier_ratio(decision.ring, tile_areas(request, decision, request.executed_mask(spread_axis(request))));
}

}  // namespace spscope
