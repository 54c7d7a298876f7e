// Network: the links between ranks and the curves of collectives, as the schedule models them.
//
// Every rank has an out and an in port, every node a NIC out and in, every rank a share of it out and in for
// point-to-point and one-sided messages, every socket a link out and in for those to and from other sockets of its
// node. A message uses the out port of its sender and the in port of its receiver, and the NICs of both nodes when they
// differ. Links are independent: a message is a job on each link that it uses and has arrived when all of them have
// served it. Its job on a port is the time that it takes there alone, bytes over the rate of its collective, so that
// messages of a slow collective hold a port longer.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "backend/config/cluster.h"
#include "backend/plan/collective.h"

namespace spscope {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The links of one message, by index into [0, Network::num_links()).
struct Route {
  std::array<int, 6> links = {};
  int num_links = 0;
  std::span<const int> used() const { return {links.data(), static_cast<std::size_t>(num_links)}; }
};

// The curve of a kind of collective; one without a rate has the rate of the ports and the latency of each message.
struct LinkCurve {
  double bytes_per_ns = 0;
  double floor_ns = 0, t0_ns = 0, inter_t0_ns = 0;
  double of_4_bytes_per_ns = 0, of_8_bytes_per_ns = 0;  // 0: any number of ranks have the same rate
};

struct Network {
  int ranks = 1;
  int ranks_per_node = 1;                 // rank r is on node r / ranks_per_node
  double port_bytes_per_ns = kUnlimited;  // one way; 1 byte/ns is 1 GB/s
  double nic_bytes_per_ns = kUnlimited;   // one way, of a whole node
  std::int64_t intra_latency_ns = 0, inter_latency_ns = 0;
  double compute_slowdown = 1;  // >= 1: on compute of a rank while two-sided communication is under way there
  std::array<LinkCurve, kNumCollectives> curves = {};
  double rank_nic_bytes_per_ns =
      kUnlimited;            // one way, of point-to-point and one-sided messages of one rank to or from other nodes
  int ranks_per_socket = 0;  // 0: all of a node
  double socket_bytes_per_ns = kUnlimited;  // one way, of such messages of a socket to or from others
  int ranks_in_use = 1;                     // of a node, those of other guidance passes and replicas included
  // Of an exchange that is an all-to-all: of each byte that a rank sends or keeps before its messages start, of each
  // byte that it gets or keeps after they have arrived.
  double pack_ns_per_byte = 0;
  // Messages inside nodes, or between them, use no link: what is left of them is latency.
  bool free_inside = false, free_between = false;

  // ranks_per_node 0: all ranks on one node. ranks_in_use: of the whole cluster; 0: `ranks`.
  static Network from_profile(const NetworkProfile& profile, int ranks, int ranks_per_node, int ranks_in_use = 0);
  // The same, with the local copies of the cluster's cost profile.
  static Network of_cluster(const ClusterPreset& preset, int ranks, int ranks_per_node, int ranks_in_use = 0);
  // Messages take no time, so that ranks wait only for partners to post.
  static Network instant(int ranks);

  int node(int rank) const { return rank / ranks_per_node; }
  int num_nodes() const { return node(ranks - 1) + 1; }
  int sockets_per_node() const {
    return ranks_per_socket > 0 ? (ranks_per_node + ranks_per_socket - 1) / ranks_per_socket : 1;
  }
  int socket(int rank) const {
    if (ranks_per_socket <= 0) return node(rank);
    return node(rank) * sockets_per_node() + rank % ranks_per_node / ranks_per_socket;
  }
  int num_sockets() const { return num_nodes() * sockets_per_node(); }
  std::int64_t latency_ns(int src, int dst) const {
    return node(src) == node(dst) ? intra_latency_ns : inter_latency_ns;
  }
  // From the start of a message until its bytes flow, of one of `steps` posts that are a collective together.
  std::int64_t t0_ns(Collective collective, int steps, int src, int dst) const;
  // The least from its start to its arrival.
  std::int64_t floor_ns(Collective collective, int steps) const;

  int num_links() const { return 4 * ranks + 2 * num_nodes() + 2 * num_sockets(); }
  // Rate of a port in a collective of `group` ranks, its logarithm a straight line over log2(w) from gbps at w = 2 to
  // of_4_gbps at 4 and on to of_8_gbps at 8 and beyond. w = 2 for a group of two, else sqrt(ranks of the group in
  // a node x ranks in use that share its host bridges): of its socket where the group fits in one, else of its node.
  double port_rate(Collective collective, int group) const;
  // Time that a link takes to serve a message of a collective of `group` ranks alone; 0 without a limit.
  double service_ns(int link, Collective collective, int group, double bytes) const;
  // Links of limited capacity that a message uses.
  Route route(Collective collective, int src, int dst) const;

 private:
  const LinkCurve& curve(Collective collective) const { return curves[static_cast<std::size_t>(collective)]; }
};

}  // namespace spscope
