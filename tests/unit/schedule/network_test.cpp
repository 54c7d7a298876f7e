#include "backend/schedule/network.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

std::vector<int> links(const Network& network, int src, int dst) {
  const Route route = network.route(src, dst);
  return {route.used().begin(), route.used().end()};
}

TEST(Network, TakesBytesAndLatenciesFromAProfile) {
  const NetworkProfile profile{
      .link_gbps = 160, .nic_gbps = 50, .intra_latency_ns = 3400, .inter_latency_ns = 14000, .compute_slowdown = 1.1};
  const Network network = Network::from_profile(profile, 16, 8);
  EXPECT_EQ(network.port_bytes_per_ns, 160);
  EXPECT_EQ(network.nic_bytes_per_ns, 50);
  EXPECT_EQ(network.latency_ns(0, 7), 3400);
  EXPECT_EQ(network.latency_ns(7, 8), 14000);
  EXPECT_EQ(network.compute_slowdown, 1.1);
  EXPECT_EQ(network.num_nodes(), 2);
}

TEST(Network, PutsAllRanksOnOneNodeWhenNodesHaveNoSize) {
  const Network network = Network::from_profile({.link_gbps = 10, .intra_latency_ns = 5}, 6, 0);
  EXPECT_EQ(network.num_nodes(), 1);
  EXPECT_EQ(network.latency_ns(0, 5), 5);
}

TEST(Network, MessagesInsideANodeUseTheTwoPortsOnly) {
  Network network{.ranks = 4, .ranks_per_node = 2, .port_bytes_per_ns = 10, .nic_bytes_per_ns = 5};
  EXPECT_EQ(links(network, 0, 1), (std::vector<int>{0, 4 + 1}));
  EXPECT_EQ(links(network, 3, 2), (std::vector<int>{3, 4 + 2}));
}

TEST(Network, MessagesBetweenNodesAlsoUseBothNics) {
  Network network{.ranks = 4, .ranks_per_node = 2, .port_bytes_per_ns = 10, .nic_bytes_per_ns = 5};
  EXPECT_EQ(links(network, 1, 2), (std::vector<int>{1, 4 + 2, 8 + 0, 10 + 1}));
  EXPECT_EQ(network.num_links(), 12);
  EXPECT_EQ(network.capacity(7), 10);
  EXPECT_EQ(network.capacity(8), 5);
}

TEST(Network, LinksWithoutLimitAreNotUsed) {
  EXPECT_TRUE(links(Network::instant(4), 0, 3).empty());
  Network no_nic{.ranks = 4, .ranks_per_node = 2, .port_bytes_per_ns = 10};
  EXPECT_EQ(links(no_nic, 0, 3).size(), 2u);
}

}  // namespace
}  // namespace spscope
