#include "backend/schedule/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "backend/base/rng.h"
#include "backend/schedule/shared_link.h"

namespace spscope {
namespace {

std::vector<int> links(const Network& network, int src, int dst) {
  const Route route = network.route(Collective::kAllToAll, src, dst);
  return {route.used().begin(), route.used().end()};
}

NetworkProfile flat_profile(double link_gbps, double nic_gbps, double intra_ns, double inter_ns, double slowdown = 1) {
  NetworkProfile profile;
  profile.link_gbps = link_gbps;
  profile.nic_gbps = nic_gbps;
  profile.intra_latency_ns = intra_ns;
  profile.inter_latency_ns = inter_ns;
  profile.compute_slowdown = slowdown;
  return profile;
}

TEST(Network, TakesBytesAndLatenciesFromAProfile) {
  const NetworkProfile profile = flat_profile(160, 50, 3400, 14000, 1.1);
  const Network network = Network::from_profile(profile, 16, 8);
  EXPECT_EQ(network.port_bytes_per_ns, 160);
  EXPECT_EQ(network.nic_bytes_per_ns, 50);
  EXPECT_EQ(network.latency_ns(0, 7), 3400);
  EXPECT_EQ(network.latency_ns(7, 8), 14000);
  EXPECT_EQ(network.compute_slowdown, 1.1);
  EXPECT_EQ(network.num_nodes(), 2);
}

TEST(Network, PutsAllRanksOnOneNodeWhenNodesHaveNoSize) {
  const Network network = Network::from_profile(flat_profile(10, 0, 5, 0), 6, 0);
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
  EXPECT_EQ(network.service_ns(7, Collective::kAllToAll, 2, 100), 10);
  EXPECT_EQ(network.service_ns(8, Collective::kAllToAll, 2, 100), 20);
}

// sqrt(4 x 4) is 4 and sqrt(8 x 8) 8; groups of 4 with 8 ranks in use are between, whatever node the rest is on.
TEST(Network, WideAllToAllsShareTheHostBridges) {
  NetworkProfile profile = flat_profile(22, 0, 5, 0);
  profile.all_to_all = {.t0_ns = 30, .gbps = 21, .of_4_gbps = 16, .of_8_gbps = 4};
  const auto rate = [&](int group, int ranks, int ranks_per_node, int in_use) {
    return Network::from_profile(profile, ranks, ranks_per_node, in_use).port_rate(Collective::kAllToAll, group);
  };
  EXPECT_DOUBLE_EQ(rate(2, 8, 0, 0), 21);
  EXPECT_DOUBLE_EQ(rate(4, 4, 0, 0), 16);
  EXPECT_DOUBLE_EQ(rate(3, 3, 0, 0), 21 * std::pow(16.0 / 21, std::log2(1.5)));
  EXPECT_DOUBLE_EQ(rate(8, 8, 0, 0), 4);
  EXPECT_DOUBLE_EQ(rate(4, 8, 0, 0), 8);
  EXPECT_DOUBLE_EQ(rate(4, 4, 8, 8), 8);
  EXPECT_DOUBLE_EQ(rate(16, 16, 0, 0), 4);
  const Network network = Network::from_profile(profile, 8, 0);
  EXPECT_DOUBLE_EQ(network.service_ns(3, Collective::kAllToAll, 8, 100), 25);
  EXPECT_DOUBLE_EQ(network.service_ns(3, Collective::kPointToPoint, 8, 110), 5);
}

// Groups that fit in a socket share nothing with those of the other: 4 of 8 ranks in use are sqrt(4 x 4), 3 of 6
// sqrt(3 x 4), though the second group of three has ranks of both sockets.
TEST(Network, AllToAllsOfOneSocketShareItsBridgeOnly) {
  NetworkProfile profile = flat_profile(22, 0, 5, 0);
  profile.all_to_all = {.t0_ns = 30, .gbps = 21, .of_4_gbps = 16, .of_8_gbps = 4};
  profile.socket_gpus = 4;
  const auto rate = [&](int group, int ranks) {
    return Network::from_profile(profile, ranks, 0, 0).port_rate(Collective::kAllToAll, group);
  };
  EXPECT_DOUBLE_EQ(rate(2, 8), 21);
  EXPECT_DOUBLE_EQ(rate(4, 8), 16);
  EXPECT_DOUBLE_EQ(rate(3, 6), 21 * std::pow(16.0 / 21, std::log2(std::sqrt(12.0) / 2)));
  EXPECT_DOUBLE_EQ(rate(8, 8), 4);
  EXPECT_DOUBLE_EQ(rate(6, 6), 16 * std::pow(4.0 / 16, std::log2(6.0 / 4)));
}

// Ranks 0 to 3 and 4 to 7: of hops to the next rank one leaves each socket, of hops to the rank after that two.
TEST(Network, HopsBetweenSocketsShareTheirLink) {
  NetworkProfile profile = flat_profile(20, 10, 5, 90);
  profile.socket_gpus = 4;
  profile.socket_gbps = 10;
  const Network network = Network::from_profile(profile, 16, 8);
  EXPECT_EQ(network.num_sockets(), 4);
  const auto crossing = [&](int src, int dst) {
    const Route route = network.route(Collective::kPointToPoint, src, dst);
    return std::vector<int>(route.used().begin() + 2, route.used().end());
  };
  const int out = 4 * 16 + 2 * 2, in = out + 4;
  EXPECT_TRUE(crossing(2, 3).empty());
  EXPECT_EQ(crossing(3, 4), (std::vector<int>{out + 0, in + 1}));
  EXPECT_EQ(crossing(2, 4), crossing(3, 5));
  EXPECT_EQ(crossing(15, 8), (std::vector<int>{out + 3, in + 2}));
  EXPECT_EQ(crossing(7, 8), (std::vector<int>{32 + 0, 34 + 1})) << "between nodes by the NICs";
  EXPECT_EQ(network.route(Collective::kAllToAll, 3, 4).num_links, 2);
  EXPECT_EQ(network.service_ns(out, Collective::kPointToPoint, 8, 100), 10);
  EXPECT_EQ(network.service_ns(in + 3, Collective::kPointToPoint, 8, 100), 10);
}

TEST(Network, LinksWithoutLimitAreNotUsed) {
  EXPECT_TRUE(links(Network::instant(4), 0, 3).empty());
  Network no_nic{.ranks = 4, .ranks_per_node = 2, .port_bytes_per_ns = 10};
  EXPECT_EQ(links(no_nic, 0, 3).size(), 2u);
}

struct Arrival {
  std::int64_t ns, bytes;
};

// Ends of jobs, by asking the link only at arrivals and at the ends that it announces.
std::map<int, std::int64_t> ends_of(double capacity, const std::vector<Arrival>& arrivals) {
  SharedLink link;
  std::map<int, std::int64_t> ends;
  std::vector<std::int32_t> ended;
  std::size_t next = 0;
  while (next < arrivals.size() || link.busy()) {
    std::int64_t now = link.busy() ? link.next_end_ns() : arrivals[next].ns;
    if (next < arrivals.size()) now = std::min(now, arrivals[next].ns);
    while (next < arrivals.size() && arrivals[next].ns == now) {
      link.add(now, static_cast<double>(arrivals[next].bytes) / capacity, static_cast<std::int32_t>(next));
      ++next;
    }
    ended.clear();
    link.take_ended(now, ended);
    for (std::int32_t job : ended) ends[job] = now;
  }
  return ends;
}

// Equal shares by the definition, one change after the other.
std::vector<long double> shares_by_definition(const std::vector<Arrival>& arrivals, long double capacity) {
  std::vector<long double> left, ends(arrivals.size(), -1);
  long double now = 0;
  for (const Arrival& a : arrivals) left.push_back(static_cast<long double>(a.bytes));
  for (std::size_t done = 0; done < arrivals.size();) {
    std::vector<std::size_t> active;
    long double change = INFINITY;
    for (std::size_t j = 0; j < arrivals.size(); ++j) {
      if (ends[j] >= 0) continue;
      if (static_cast<long double>(arrivals[j].ns) > now)
        change = std::min(change, static_cast<long double>(arrivals[j].ns));
      else
        active.push_back(j);
    }
    const auto n = static_cast<long double>(active.size());
    for (std::size_t j : active) change = std::min(change, now + left[j] * n / capacity);
    for (std::size_t j : active) {
      left[j] -= (change - now) * capacity / n;
      if (left[j] < 1e-9L) ends[j] = change, ++done;
    }
    now = change;
  }
  return ends;
}

// The first two end at 2 x 15 / 10 = 3 each; a third of 5 bytes more ends at 3.5: its end is rounded, not its start.
TEST(SharedLink, RoundingDoesNotAddUp) {
  std::vector<Arrival> arrivals;
  for (std::int64_t bytes = 1; bytes <= 40; ++bytes) arrivals.push_back({0, bytes * 3});
  const auto ends = ends_of(7, arrivals);
  EXPECT_EQ(ends.at(39), static_cast<std::int64_t>(std::ceil(3 * 40 * 41 / 2 / 7.0)));
}

TEST(SharedLink, EqualJobsEndTogether) {
  const auto ends = ends_of(3, {{0, 10}, {0, 10}, {0, 10}});
  for (int job = 0; job < 3; ++job) EXPECT_EQ(ends.at(job), 10);
}

TEST(SharedLink, StartsAnewAfterIdling) {
  const auto ends = ends_of(4, {{0, 10}, {1'000'000'000'000, 10}});
  EXPECT_EQ(ends.at(0), 3);
  EXPECT_EQ(ends.at(1), 1'000'000'000'003);
}

TEST(SharedLink, AgreesWithTheDefinitionOnRandomJobs) {
  Rng rng(11);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Arrival> arrivals;
    std::int64_t ns = 0;
    for (std::int64_t j = 0, n = 1 + rng.below(20); j < n; ++j)
      arrivals.push_back({ns += rng.below(30), 1 + rng.below(500)});
    const double capacity = 0.5 + 10 * rng.uniform();
    const auto ends = ends_of(capacity, arrivals);
    const auto expected = shares_by_definition(arrivals, capacity);
    for (std::size_t j = 0; j < arrivals.size(); ++j)
      ASSERT_EQ(ends.at(static_cast<int>(j)), std::ceil(expected[j] - 1e-6L)) << "trial " << trial << " job " << j;
  }
}

}  // namespace
}  // namespace spscope
