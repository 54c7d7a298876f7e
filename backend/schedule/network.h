// Network: the links between ranks, as the schedule models them.
//
// Every rank has an out and an in port, every node a NIC out and in. A message uses the out port of its sender and the
// in port of its receiver, and the NICs of both nodes when they differ. Links are independent: a message is a job on
// each link that it uses and has arrived when all of them have served it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "backend/config/cluster.h"

namespace spscope {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The links of one message, by index into [0, Network::num_links()).
struct Route {
  std::array<int, 4> links = {};
  int num_links = 0;
  std::span<const int> used() const { return {links.data(), static_cast<std::size_t>(num_links)}; }
};

struct Network {
  int ranks = 1;
  int ranks_per_node = 1;                 // rank r is on node r / ranks_per_node
  double port_bytes_per_ns = kUnlimited;  // one way; 1 byte/ns is 1 GB/s
  double nic_bytes_per_ns = kUnlimited;   // one way, of a whole node
  std::int64_t intra_latency_ns = 0, inter_latency_ns = 0;
  double compute_slowdown = 1;  // >= 1: on compute of a rank while two-sided communication is under way there

  // ranks_per_node 0: all ranks on one node.
  static Network from_profile(const NetworkProfile& profile, int ranks, int ranks_per_node);
  // Messages take no time, so that ranks wait only for partners to post.
  static Network instant(int ranks);

  int node(int rank) const { return rank / ranks_per_node; }
  int num_nodes() const { return node(ranks - 1) + 1; }
  std::int64_t latency_ns(int src, int dst) const {
    return node(src) == node(dst) ? intra_latency_ns : inter_latency_ns;
  }

  int num_links() const { return 2 * ranks + 2 * num_nodes(); }
  double capacity(int link) const { return link < 2 * ranks ? port_bytes_per_ns : nic_bytes_per_ns; }
  // Links of limited capacity that a message uses.
  Route route(int src, int dst) const;
};

}  // namespace spscope
