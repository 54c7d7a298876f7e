#include "backend/schedule/network.h"

#include <cmath>

#include "backend/base/check.h"

namespace spscope {

Network Network::from_profile(const NetworkProfile& profile, int ranks, int ranks_per_node) {
  Network network;
  network.ranks = ranks;
  network.ranks_per_node = ranks_per_node > 0 ? ranks_per_node : ranks;
  SPSCOPE_CHECK(network.num_nodes() == 1 || profile.nic_gbps > 0);
  network.port_bytes_per_ns = profile.link_gbps;
  network.nic_bytes_per_ns = profile.nic_gbps > 0 ? profile.nic_gbps : kUnlimited;
  network.intra_latency_ns = std::llround(profile.intra_latency_ns);
  network.inter_latency_ns = std::llround(profile.inter_latency_ns);
  network.compute_slowdown = profile.compute_slowdown;
  return network;
}

Network Network::instant(int ranks) {
  Network network;
  network.ranks = network.ranks_per_node = ranks;
  return network;
}

// Indices: out ports, in ports, NICs out, NICs in.
Route Network::route(int src, int dst) const {
  Route route;
  const auto use = [&](int link) { route.links[static_cast<std::size_t>(route.num_links++)] = link; };
  if (port_bytes_per_ns != kUnlimited) {
    use(src);
    use(ranks + dst);
  }
  if (node(src) != node(dst) && nic_bytes_per_ns != kUnlimited) {
    use(2 * ranks + node(src));
    use(2 * ranks + num_nodes() + node(dst));
  }
  return route;
}

}  // namespace spscope
