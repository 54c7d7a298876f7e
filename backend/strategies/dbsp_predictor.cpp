#include "backend/strategies/dbsp_predictor.h"

#include <algorithm>
#include <numeric>

#include "backend/schedule/network.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A communication phase: bytes on each link, and the latency of its slowest message.
class LinkLoads {
 public:
  explicit LinkLoads(const Network& network) : network_(network), bytes_(at(network.num_links()), 0) {}

  void add(int src, int dst, double bytes) {
    if (src == dst || bytes == 0) return;
    const Route route = network_.route(src, dst);
    for (int link : route.used()) bytes_[at(link)] += bytes;
    latency_ns_ = std::max(latency_ns_, static_cast<double>(network_.latency_ns(src, dst)));
  }
  double duration_ns(int num_collectives) const {
    double busiest_ns = 0;
    for (std::size_t link = 0; link < bytes_.size(); ++link)
      busiest_ns = std::max(busiest_ns, bytes_[link] / network_.capacity(static_cast<int>(link)));
    return busiest_ns + num_collectives * latency_ns_;
  }

 private:
  const Network& network_;
  std::vector<double> bytes_;
  double latency_ns_ = 0;
};

// Bytes of one rank's share of one of q, k, v and o, all sequences and samples.
double shard_bytes(const Request& request) {
  return static_cast<double>(request.outer_tokens) * request.inner_tokens * request.heads * request.head_dim *
         request.batch * dtype_bytes(request.dtype) / request.ranks;
}

double all_to_all_ns(const Request& request, const Decision& decision, const Network& network) {
  LinkLoads loads(network);
  const double to_each = 4 * shard_bytes(request) / decision.ulysses;
  for (const auto& group : decision.ulysses_groups)
    for (int src : group)
      for (int dst : group) loads.add(src, dst, to_each);
  return loads.duration_ns(4);
}

double hop_ns(const Request& request, const Decision& decision, const Network& network) {
  LinkLoads loads(network);
  for (const auto& group : decision.ring_groups)
    for (std::size_t j = 0; j < group.size(); ++j)
      loads.add(group[j], group[(j + 1) % group.size()], 2 * shard_bytes(request));
  return loads.duration_ns(1);
}

double exchange_ns(const Request& request, const Decision& decision, const Network& network) {
  const IndexGroups home = even_groups(num_cut_blocks(request), decision.ring);
  const TransferMatrix of_q = transfer_matrix(home, decision.query_blocks),
                       of_k = transfer_matrix(home, decision.key_blocks);
  const double block_bytes = shard_bytes(request) * decision.ring / num_cut_blocks(request);
  LinkLoads there(network), back(network);
  for (const auto& group : decision.ring_groups)
    for (std::size_t from = 0; from < group.size(); ++from)
      for (std::size_t to = 0; to < group.size(); ++to) {
        there.add(group[from], group[to], (of_q[from][to] + 2 * of_k[from][to]) * block_bytes);
        back.add(group[to], group[from], of_q[from][to] * block_bytes);
      }
  return there.duration_ns(3) + back.duration_ns(1);
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
  const Network network = Network::from_profile(request.cluster->network, request.ranks, request.ranks_per_node);
  terms.all_to_all_ns = all_to_all_ns(request, decision, network);
  if (decision.ring == 1) return terms;
  terms.hop_ns = hop_ns(request, decision, network);
  terms.exchange_ns = exchange_ns(request, decision, network);
  return terms;
}

}  // namespace spscope
