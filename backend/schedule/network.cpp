#include "backend/schedule/network.h"

#include <algorithm>
#include <cmath>

#include "backend/base/check.h"

namespace spscope {
namespace {

LinkCurve known_curve(const NetworkProfile& profile, const CollectiveCurve& curve) {
  if (curve.gbps <= 0) return {};
  const double between = curve.inter_t0_ns > 0 ? curve.inter_t0_ns : profile.inter_latency_ns;
  return {curve.gbps, curve.floor_ns, curve.t0_ns, std::max(curve.t0_ns, between), curve.of_4_gbps, curve.of_8_gbps};
}

// A collective of two halves with the same bytes, one after the other: 1 / rate is the mean of theirs.
LinkCurve both_halves(const LinkCurve& a, const LinkCurve& b) {
  if (a.bytes_per_ns <= 0 || b.bytes_per_ns <= 0) return {};
  return {2 / (1 / a.bytes_per_ns + 1 / b.bytes_per_ns),
          a.floor_ns + b.floor_ns,
          a.t0_ns + b.t0_ns,
          a.inter_t0_ns + b.inter_t0_ns,
          0,
          0};
}

}  // namespace

Network Network::from_profile(const NetworkProfile& profile, int ranks, int ranks_per_node, int ranks_in_use) {
  Network network;
  network.ranks = ranks;
  network.ranks_per_node = ranks_per_node > 0 ? ranks_per_node : ranks;
  network.ranks_in_use = std::min(std::max(ranks, ranks_in_use), network.ranks_per_node);
  SPSCOPE_CHECK(network.num_nodes() == 1 || profile.nic_gbps > 0);
  network.port_bytes_per_ns = profile.link_gbps;
  network.nic_bytes_per_ns = profile.nic_gbps > 0 ? profile.nic_gbps : kUnlimited;
  network.rank_nic_bytes_per_ns = profile.rank_nic_gbps > 0 ? profile.rank_nic_gbps : kUnlimited;
  network.ranks_per_socket = static_cast<int>(profile.socket_gpus);
  network.socket_bytes_per_ns = profile.socket_gbps > 0 ? profile.socket_gbps : kUnlimited;
  network.intra_latency_ns = std::llround(profile.intra_latency_ns);
  network.inter_latency_ns = std::llround(profile.inter_latency_ns);
  network.compute_slowdown = profile.compute_slowdown;
  const auto curve_of = [&](Collective collective) -> LinkCurve& {
    return network.curves[static_cast<std::size_t>(collective)];
  };
  curve_of(Collective::kPointToPoint) = known_curve(profile, profile.point_to_point);
  curve_of(Collective::kAllToAll) = known_curve(profile, profile.all_to_all);
  curve_of(Collective::kAllGather) = known_curve(profile, profile.all_gather);
  curve_of(Collective::kReduceScatter) = known_curve(profile, profile.reduce_scatter);
  curve_of(Collective::kAllReduce) =
      profile.all_reduce.gbps > 0 ? known_curve(profile, profile.all_reduce)
                                  : both_halves(curve_of(Collective::kReduceScatter), curve_of(Collective::kAllGather));
  curve_of(Collective::kOneSided) = known_curve(profile, profile.one_sided);
  return network;
}

Network Network::of_cluster(const ClusterPreset& preset, int ranks, int ranks_per_node, int ranks_in_use) {
  Network network = from_profile(preset.network, ranks, ranks_per_node, ranks_in_use);
  network.pack_ns_per_byte = preset.cost.pack_ns_per_byte;
  return network;
}

Network Network::instant(int ranks) {
  Network network;
  network.ranks = network.ranks_per_node = network.ranks_in_use = ranks;
  return network;
}

// Posts of one collective share its t0 and its floor; without a curve each message has a latency of its own.
std::int64_t Network::t0_ns(Collective collective, int steps, int src, int dst) const {
  const LinkCurve& c = curve(collective);
  if (c.bytes_per_ns <= 0) return latency_ns(src, dst);
  return std::llround((node(src) == node(dst) ? c.t0_ns : c.inter_t0_ns) / steps);
}

std::int64_t Network::floor_ns(Collective collective, int steps) const {
  return std::llround(curve(collective).floor_ns / steps);
}

double Network::port_rate(Collective collective, int group) const {
  const LinkCurve& known = curve(collective);
  if (known.bytes_per_ns <= 0) return port_bytes_per_ns;
  if (known.of_4_bytes_per_ns <= 0 || known.of_8_bytes_per_ns <= 0 || group <= 2) return known.bytes_per_ns;
  const int sharing = group <= ranks_per_socket ? std::min(ranks_in_use, ranks_per_socket) : ranks_in_use;
  const double width = std::sqrt(static_cast<double>(std::min(group, ranks_per_node)) * sharing);
  const double beyond_2 = std::clamp(std::log2(width / 2), 0.0, 2.0), beyond_4 = std::max(0.0, beyond_2 - 1);
  const double narrow = beyond_4 > 0 ? known.of_4_bytes_per_ns : known.bytes_per_ns;
  const double wide = beyond_4 > 0 ? known.of_8_bytes_per_ns : known.of_4_bytes_per_ns;
  const double share = beyond_4 > 0 ? beyond_4 : beyond_2;
  return std::pow(narrow, 1 - share) * std::pow(wide, share);
}

double Network::service_ns(int link, Collective collective, int group, double bytes) const {
  const int nics = 2 * ranks, shares = nics + 2 * num_nodes(), sockets = shares + 2 * ranks;
  if (link < nics) return bytes / port_rate(collective, group);
  if (link < shares) return bytes / nic_bytes_per_ns;
  return bytes / (link < sockets ? rank_nic_bytes_per_ns : socket_bytes_per_ns);
}

// Indices: out ports, in ports, NICs out, NICs in, shares of ranks out, in, sockets out, in.
Route Network::route(Collective collective, int src, int dst) const {
  Route route;
  if (node(src) == node(dst) ? free_inside : free_between) return route;
  const auto use = [&](int link) { route.links[static_cast<std::size_t>(route.num_links++)] = link; };
  if (curve(collective).bytes_per_ns > 0 || port_bytes_per_ns != kUnlimited) {
    use(src);
    use(ranks + dst);
  }
  const int shares = 2 * (ranks + num_nodes()), sockets = shares + 2 * ranks;
  const bool of_pair = collective == Collective::kPointToPoint || collective == Collective::kOneSided;
  if (node(src) == node(dst)) {
    if (of_pair && socket_bytes_per_ns != kUnlimited && socket(src) != socket(dst)) {
      use(sockets + socket(src));
      use(sockets + num_sockets() + socket(dst));
    }
    return route;
  }
  if (nic_bytes_per_ns != kUnlimited) {
    use(2 * ranks + node(src));
    use(2 * ranks + num_nodes() + node(dst));
  }
  if (of_pair && rank_nic_bytes_per_ns != kUnlimited) {
    use(shares + src);
    use(shares + ranks + dst);
  }
  return route;
}

}  // namespace spscope
