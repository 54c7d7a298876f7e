#include "backend/strategies/dbsp_predictor.h"

#include <algorithm>
#include <numeric>

#include "backend/base/ids.h"
#include "backend/schedule/network.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// A communication phase of one kind of collective: time of each link for its bytes, the t0 of its slowest message, and
// the most that one rank packs and unpacks.
class LinkLoads {
 public:
  LinkLoads(const Network& network, Collective collective)
      : network_(network), collective_(collective), service_ns_(at(network.num_links()), 0) {}

  void add(int src, int dst, std::size_t group, double bytes) {
    if (src == dst || bytes == 0) return;
    const Route route = network_.route(collective_, src, dst);
    for (int link : route.used())
      service_ns_[at(link)] += network_.service_ns(link, collective_, static_cast<int>(group), bytes);
    t0_ns_ = std::max(t0_ns_, static_cast<double>(network_.t0_ns(collective_, 1, src, dst)));
  }
  // `copied` bytes are packed and unpacked at the rank that has most.
  double duration_ns(int num_collectives, double copied = 0) const {
    const double wire_ns = std::ranges::max(service_ns_) + num_collectives * t0_ns_;
    if (wire_ns == 0) return 0;
    return std::max(wire_ns, num_collectives * static_cast<double>(network_.floor_ns(collective_, 1))) +
           2 * copied * network_.pack_ns_per_byte;
  }

 private:
  const Network& network_;
  Collective collective_;
  std::vector<double> service_ns_;
  double t0_ns_ = 0;
};

// Bytes of one rank's share of one of q, k, v and o, all sequences and samples.
double shard_bytes(const Request& request) {
  return static_cast<double>(request.outer_tokens) * request.inner_tokens * request.heads * request.head_dim *
         request.batch * dtype_bytes(request.dtype) / request.ranks;
}

double all_to_all_ns(const Request& request, const Decision& decision, const Network& network) {
  LinkLoads loads(network, Collective::kAllToAll);
  const double to_each = 4 * shard_bytes(request) / decision.ulysses;
  for (const auto& group : decision.ulysses_groups)
    for (int src : group)
      for (int dst : group) loads.add(src, dst, group.size(), to_each);
  return loads.duration_ns(4, 4 * shard_bytes(request));
}

double hop_ns(const Request& request, const Decision& decision, const Network& network) {
  LinkLoads loads(network, Collective::kPointToPoint);
  for (const auto& group : decision.ring_groups)
    for (std::size_t j = 0; j < group.size(); ++j)
      loads.add(group[j], group[(j + 1) % group.size()], group.size(), 2 * shard_bytes(request));
  return loads.duration_ns(1);
}

double exchange_ns(const Request& request, const Decision& decision, const Network& network) {
  const IndexGroups home = even_groups(num_cut_blocks(request), decision.ring);
  const TransferMatrix of_q = transfer_matrix(home, decision.query_blocks),
                       of_k = transfer_matrix(home, decision.key_blocks);
  const double block_bytes = shard_bytes(request) * decision.ring / num_cut_blocks(request);
  LinkLoads there(network, Collective::kAllToAll), back(network, Collective::kAllToAll);
  for (const auto& group : decision.ring_groups)
    for (std::size_t from = 0; from < group.size(); ++from)
      for (std::size_t to = 0; to < group.size(); ++to) {
        there.add(group[from], group[to], group.size(), (of_q[from][to] + 2 * of_k[from][to]) * block_bytes);
        back.add(group[to], group[from], group.size(), of_q[from][to] * block_bytes);
      }
  return there.duration_ns(3, 3 * shard_bytes(request)) + back.duration_ns(1, shard_bytes(request));
}

// Attention of one ring step of one rank, `area` being the active area of the layer along the spread axis.
double step_ns(const Request& request, const Decision& decision, double area) {
  const bool inner = spread_axis(request) == AttendedAxis::kInner;
  const double sequences = static_cast<double>(inner ? request.outer_tokens : request.inner_tokens) * request.batch;
  const double tokens = inner ? request.inner_tokens : request.outer_tokens;
  const double pairs = area * sequences / request.ranks / decision.ring;
  if (request.cluster == nullptr) return pairs;
  return request.cluster->cost.attend_ns(tokens * sequences * request.heads / request.ranks, pairs, request.head_dim);
}

}  // namespace

double predicted_latency_ns(const LatencyTerms& t, bool with_exchange) {
  const double steps_ns = std::max(t.step_ns, t.hop_ns) * (t.ring - 1) + t.step_ns;
  return t.all_to_all_ns + (with_exchange ? t.exchange_ns : 0) + steps_ns * t.ratio;
}

LatencyTerms latency_terms(const Request& request, const Decision& decision) {
  const AttendedAxis axis = spread_axis(request);
  const double tokens = static_cast<double>(request.executed_mask(axis).mask().tokens());
  LatencyTerms terms{.ring = decision.ring};
  double area = request.heads * tokens * tokens;
  if (MaskCounter* known = request.known_mask(axis)) {
    const std::vector<std::int64_t> areas = tile_areas(request, decision, *known);
    area = std::accumulate(areas.begin(), areas.end(), 0.0);
    terms.ratio = barrier_ratio(decision.ring, areas);
  }
  terms.step_ns = step_ns(request, decision, area);
  if (request.cluster == nullptr) return terms;
  const Network network =
      Network::of_cluster(*request.cluster, request.ranks, request.ranks_per_node, request.ranks_in_use);
  terms.all_to_all_ns = all_to_all_ns(request, decision, network);
  if (decision.ring == 1) return terms;
  terms.hop_ns = hop_ns(request, decision, network);
  terms.exchange_ns = exchange_ns(request, decision, network);
  return terms;
}

}  // namespace spscope
