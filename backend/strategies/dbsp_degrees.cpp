#include "backend/strategies/dbsp_degrees.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/schedule/cost.h"
#include "backend/schedule/imbalance.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/dbsp_predictor.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/sharding.h"

namespace spscope {
namespace {

// All blocks of a mask active.
BlockMask dense_like(const BlockMask& mask) {
  const auto starts = mask.coarse_starts();
  BlockMask dense(mask.heads(), {starts.begin(), starts.end()});
  const std::int32_t in_last_word = dense.coarse_blocks() - 64 * (dense.words_per_row() - 1);
  for (int head = 0; head < dense.heads(); ++head)
    for (std::int32_t q = 0; q < dense.coarse_blocks(); ++q) {
      const std::span<std::uint64_t> row = dense.mutable_row(head, q);
      std::ranges::fill(row, ~std::uint64_t{0});
      if (in_last_word < 64) row.back() = (std::uint64_t{1} << in_last_word) - 1;
    }
  return dense;
}

// What the attention of the busiest rank takes at least, without its launches and rows.
double least_attention_ns(const Request& known, const Decision& decision) {
  const AttendedAxis axis = spread_axis(known);
  const bool inner = axis == AttendedAxis::kInner;
  const double sequences = static_cast<double>(inner ? known.outer_tokens : known.inner_tokens) * known.batch;
  const std::vector<std::int64_t> areas = tile_areas(known, decision, known.executed_mask(axis));
  double busiest = 0;
  for (auto tile = areas.begin(); tile != areas.end(); tile += decision.ring)
    busiest = std::max(busiest, std::accumulate(tile, tile + decision.ring, 0.0));
  busiest *= sequences;
  if (known.cluster == nullptr) return busiest;
  const KernelCostProfile& cost = known.cluster->cost;
  return cost.attend_ns_per_pair_channel * cost.padded_head_dim(known.head_dim) * busiest;
}

std::int64_t makespan_of(const Request& known, const Plan& plan) {
  if (known.cluster == nullptr) return schedule(plan, attended_area(plan), Network::instant(known.ranks)).makespan_ns();
  const ClusterPreset& cluster = *known.cluster;
  const Network network = Network::of_cluster(cluster, known.ranks, known.ranks_per_node, known.ranks_in_use);
  return schedule(plan, op_durations(plan, cluster.cost), network, host_times(plan, cluster.cost).issue_ns)
      .makespan_ns();
}

// Positions of the decisions by predicted latency, as many as may be planned, but one at least.
std::vector<std::size_t> worth_planning(const Request& known, std::span<const Decision> decisions) {
  std::vector<double> predicted;
  for (const Decision& decision : decisions)
    predicted.push_back(predicted_latency_ns(latency_terms(known, decision), true));
  std::vector<std::size_t> order(decisions.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return predicted[i]; });
  std::int64_t planned = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Decision& decision = decisions[order[i]];
    planned += std::int64_t{known.ranks} * (decision.ulysses + decision.ring);
    if (i > 0 && planned > kMostPlanned) {
      order.resize(i);
      break;
    }
  }
  return order;
}

}  // namespace

Request known_layer(const Request& request) {
  Request known = request;
  for (const int axis : {0, 1}) {
    if (request.executed_masks[axis] == nullptr) continue;
    known.executed_masks[axis] = request.known_masks[axis];
    if (request.known_masks[axis] == nullptr)
      known.executed_masks[axis] =
          std::make_shared<MaskCounter>(request.sets, dense_like(request.executed_masks[axis]->mask()));
    known.known_masks[axis] = known.executed_masks[axis];
  }
  return known;
}

std::size_t fastest_by_schedule(const Request& request, std::span<const Decision> decisions,
                                const std::function<Plan(const Request&, const Decision&)>& plan) {
  if (decisions.size() == 1) return 0;
  const Request known = known_layer(request);
  const std::vector<std::size_t> order = worth_planning(known, decisions);
  if (order.size() == 1) return order.front();
  std::size_t fastest = order.front();
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t i : order) {
    if (least_attention_ns(known, decisions[i]) > static_cast<double>(least_ns)) continue;
    const std::int64_t ns = makespan_of(known, plan(known, decisions[i]));
    if (ns > least_ns || (ns == least_ns && i > fastest)) continue;
    fastest = i;
    least_ns = ns;
  }
  return fastest;
}

}  // namespace spscope
