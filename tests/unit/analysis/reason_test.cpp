// Reasons with a cause that was planted: two schedules of one plan, of which the slower one has a number, a mask or a
// time made worse. The cause that is named must be the one that was planted. Random pairs of strategies, which are
// scheduled without the cause that is named, are those of tests/oracle/reasons.py.
#include "backend/analysis/reason.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "backend/analysis/run_figures.h"
#include "backend/base/ids.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

constexpr int kRanks = 4, kHeads = 8, kBlocks = 16, kBlockTokens = 32, kHeadDim = 16;

// Head `heavy` has all its tiles, the others `density` of them, evenly; with `heavy_rows` the first quarter of the rows
// has all.
BlockMask mask_with(double density, int heavy, bool heavy_rows) {
  BlockMask mask(kHeads, BlockMask::uniform_starts(kBlocks * kBlockTokens, kBlockTokens));
  const int every = static_cast<int>(1 / density);
  for (int h = 0; h < kHeads; ++h)
    for (int q = 0; q < kBlocks; ++q)
      for (int k = 0; k < kBlocks; ++k)
        if (h == heavy || (heavy_rows && q < kBlocks / kRanks) || (q + k) % every == 0) mask.set(h, q, k);
  return mask;
}

// What a run is made of, and what can be made worse.
struct World {
  std::string strategy = "ring";
  double density = 0.25;
  int heavy_head = -1;
  bool heavy_rows = false;
  int ranks_per_node = kRanks;
  KernelCostProfile cost = [] {
    KernelCostProfile c;
    c.attend_ns_per_launch = 200, c.attend_ns_per_row = 0.2, c.attend_ns_per_pair_channel = 0.01;
    c.move_ns_per_byte = 0.001, c.gemm_ns_per_flop = 0.0001;
    return c;
  }();
  NetworkProfile network = [] {
    NetworkProfile n;
    n.link_gbps = 100, n.nic_gbps = 50, n.intra_latency_ns = 50, n.inter_latency_ns = 100, n.compute_slowdown = 1.05;
    return n;
  }();
  std::function<void(const Plan&, Timeline&)> change = {};  // of the times, after scheduling: as if they were measured
};

StrategyResult result_of(const World& world, const Plan& plan) {
  ClusterPreset cluster;
  cluster.network = world.network;
  cluster.cost = world.cost;
  TimeModels models;
  models.cost = world.cost;
  models.network = Network::of_cluster(cluster, plan.ranks, world.ranks_per_node);
  for (int r = 0; r < plan.ranks; ++r) models.nodes.push_back(r / world.ranks_per_node);
  Timeline timeline =
      schedule(plan, op_durations(plan, world.cost), *models.network, host_times(plan, world.cost).issue_ns);
  if (world.change) world.change(plan, timeline);
  StoredRun run;
  run.record.provenance = {Source::kModelled, Source::kModelled, Timing::kClean};
  run.repeats = {{.repeat = 0, .makespan_ns = timeline.makespan_ns()}};
  for (int r = 0; r < plan.ranks; ++r) run.usage.push_back({.rank = r});
  for (const Op& op : plan.ops) run.usage[at(op.rank)].tiles += static_cast<double>(op.tiles);
  add_timeline(run, plan, timeline, models);
  StrategyRecord record;
  record.id = record.name = record.label = world.strategy;
  StrategyResult result = summarize(record, {&run, 1});
  EditablePasses passes{{{plan, timeline}}, cluster, world.ranks_per_node, 0, true};
  if (!world.change) result.probes = {std::make_shared<const Probe>(std::move(passes))};
  return result;
}

StrategyResult result_of(const World& world) {
  const Request request =
      Request::attention(kRanks, kHeads, kHeadDim, mask_with(world.density, world.heavy_head, world.heavy_rows));
  const Strategy& strategy = *find_strategy(world.strategy);
  return result_of(world, make_plan(strategy, request, Parameters(strategy.parameters())));
}

struct Planted {
  const char* name;
  World fast, slow;
  Cause cause;
  int late_rank = -1;
};

World changed(World world, const std::function<void(World&)>& change) {
  change(world);
  return world;
}

// The last operation of a rank ends later, and with it the plan.
std::function<void(const Plan&, Timeline&)> delay(int rank, std::int64_t by_ns) {
  return [=](const Plan& plan, Timeline& timeline) {
    OpTimes* last = nullptr;
    for (std::size_t i = 0; i < plan.ops.size(); ++i)
      if (plan.ops[i].rank == rank && (!last || timeline.ops[i].end_ns > last->end_ns)) last = &timeline.ops[i];
    last->end_ns += by_ns;
  };
}

std::vector<Planted> planted() {
  const World ring, ulysses{.strategy = "ulysses"}, usp{.strategy = "usp"};
  const World gather{.strategy = "allgather_kv"};
  const World two_nodes = changed(ring, [](World& w) { w.ranks_per_node = 2; });
  const World busy = changed(ring, [](World& w) { w.cost.attend_ns_per_pair_channel = 0.1; });
  std::vector<Planted> list;
  const auto plant = [&](const char* name, const World& fast, Cause cause, const std::function<void(World&)>& change,
                         int late_rank = -1) {
    list.push_back({name, fast, changed(fast, change), cause, late_rank});
  };
  for (const World* w : {&ring, &usp})
    plant("launches", *w, Cause::kLaunches, [](World& x) { x.cost.attend_ns_per_launch = 20000; });
  for (const World* w : {&ring, &ulysses}) {
    plant("rows", *w, Cause::kRows, [](World& x) { x.cost.attend_ns_per_row = 30; });
    plant("tiles", *w, Cause::kTiles, [](World& x) { x.cost.attend_ns_per_pair_channel = 0.3; });
    plant("merges", *w, Cause::kMerges, [](World& x) { x.cost.move_ns_per_byte = 2; });
  }
  plant("SMs taken", busy, Cause::kSlowdown, [](World& x) {
    x.network.compute_slowdown = 3;
    x.network.link_gbps = 3;
  });
  for (const World* w : {&ring, &ulysses, &gather})
    plant("latency", *w, Cause::kLatency, [](World& x) { x.network.intra_latency_ns = 300000; });
  for (const World* w : {&ring, &ulysses, &gather})
    plant("slow link", *w, Cause::kWireInside, [](World& x) { x.network.link_gbps = 0.3; });
  for (const World* w : {&two_nodes})
    plant("slow NIC", *w, Cause::kWireBetween, [](World& x) { x.network.nic_gbps = 0.2; });
  for (const World* w : {&ring, &ulysses})
    plant("slow host", *w, Cause::kHost, [](World& x) { x.cost.host_ns_per_launch = 50000; });
  // Ulysses gives rank r heads 2 r and 2 r + 1, a ring gives rank 0 the first quarter of the rows.
  const World busy_ulysses = changed(ulysses, [](World& w) { w.cost.attend_ns_per_pair_channel = 0.1; });
  for (const int head : {0, 3, 6})
    plant(
        "heavy head", busy_ulysses, Cause::kLateRank, [head](World& x) { x.heavy_head = head; }, head / 2);
  plant(
      "heavy rows", busy, Cause::kLateRank, [](World& x) { x.heavy_rows = true; }, 0);
  plant(
      "all on one rank", busy_ulysses, Cause::kLateRank, [](World& x) { x.strategy = "single"; }, 0);
  // A ring ends with compute, Ulysses with a transfer: of that the others do not wait for a rank that is slow.
  for (const int rank : {1, 3}) {
    plant(
        "a rank ends late", ring, Cause::kLateRank, [rank](World& x) { x.change = delay(rank, 500000); }, rank);
    plant("a transfer ends late", ulysses, Cause::kWireInside, [rank](World& x) { x.change = delay(rank, 500000); });
  }
  return list;
}

TEST(Reason, NamesTheCauseThatWasPlanted) {
  const std::vector<Planted> list = planted();
  EXPECT_GE(list.size(), 20u);
  for (const Planted& p : list) {
    SCOPED_TRACE(std::string(p.name) + " of " + p.slow.strategy);
    const StrategyResult fast = result_of(p.fast), slow = result_of(p.slow);
    const auto reason = reason_for(slow, fast);
    ASSERT_TRUE(reason.has_value());
    EXPECT_EQ(cause_name(reason->cause()), cause_name(p.cause)) << reason_text(*reason, slow, fast);
    EXPECT_EQ(reason->terms.total(), *slow.makespan_ns - *fast.makespan_ns);
    EXPECT_EQ(reason->difference_ns, reason->terms.total());
    if (p.late_rank < 0) continue;
    ASSERT_TRUE(reason->late.has_value());
    EXPECT_EQ(reason->late->rank, p.late_rank);
    EXPECT_NE(reason_text(*reason, slow, fast).find(" for rank " + std::to_string(p.late_rank)), std::string::npos);
  }
}

// Of measured times, ranks that are late because of a transfer wait for that: a ring over nodes, of which two send.
TEST(Reason, WhatLateRanksWaitForIsToldAlongTheCriticalPath) {
  StrategyResult fast, slow;
  fast.label = "usp u8 r2", slow.label = "ring r16";
  for (StrategyResult* s : {&fast, &slow}) s->terms.emplace(), s->path_terms.emplace();
  fast.makespan_ns = 8'000'000, slow.makespan_ns = 31'000'000;
  (*fast.terms)[TimeTerm::kTiles] = (*fast.path_terms)[TimeTerm::kTiles] = 8'000'000;
  (*slow.terms)[TimeTerm::kTiles] = 8'000'000;
  (*slow.terms)[TimeTerm::kLatePeer] = 17'000'000, (*slow.terms)[TimeTerm::kWireBetween] = 6'000'000;
  (*slow.path_terms)[TimeTerm::kTiles] = 1'000'000, (*slow.path_terms)[TimeTerm::kWireBetween] = 30'000'000;
  slow.waited_for_ns = {0, 60'000'000};
  const auto reason = reason_for(slow, fast);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->cause(), Cause::kWireBetween);
  EXPECT_FALSE(reason->late.has_value());
  EXPECT_EQ(reason_text(*reason, slow, fast),
            "ring r16 is 23.0 ms slower: its critical path has 30.0 ms of transfers between nodes");
  // Where the path is compute, they wait for a rank that computes.
  (*slow.path_terms)[TimeTerm::kTiles] = 23'000'000, (*slow.path_terms)[TimeTerm::kWireBetween] = 8'000'000;
  EXPECT_EQ(reason_for(slow, fast)->cause(), Cause::kLateRank);
}

TEST(Reason, ALateRankComesWithItsHeadsAndTiles) {
  World world{.strategy = "ulysses"};
  world.cost.attend_ns_per_pair_channel = 0.1;
  const StrategyResult fast = result_of(world);
  world.heavy_head = 5;
  const StrategyResult slow = result_of(world);
  auto reason = reason_for(slow, fast);
  ASSERT_TRUE(reason && reason->late);
  // 16 x 16 tiles of head 5 and 64 of each other: rank 2 has 320 of 704.
  EXPECT_NEAR(reason->late->more_tiles, 320.0 / 176 - 1, 1e-9);
  EXPECT_EQ(reason->late->heads, "4-5");
  EXPECT_NE(reason_text(*reason, slow, fast).find("Its heads 4-5 have 82 % more active tiles than the mean"),
            std::string::npos);
  reason->late->heads = "5", reason->late->share = 0.4;
  EXPECT_NE(reason_text(*reason, slow, fast).find("Rank 2 is late most: its head 5 has 82 % more"), std::string::npos);
}

// The larger saving in time decides, whatever the ratios: a strategy that is balanced worse and slower because of
// bytes.
TEST(Reason, TimeDecidesAndNotRatios) {
  StrategyResult fast, slow;
  fast.label = "cyclic u4 r2", slow.label = "ring r8";
  fast.makespan_ns = 48'700'000, slow.makespan_ns = 68'600'000;
  fast.imbalance_ratio = 1.01, slow.imbalance_ratio = 1.09;
  fast.terms.emplace(), slow.terms.emplace();
  (*fast.terms)[TimeTerm::kTiles] = 35'500'000, (*slow.terms)[TimeTerm::kTiles] = 36'500'000;
  (*fast.terms)[TimeTerm::kWireInside] = 13'200'000, (*slow.terms)[TimeTerm::kWireInside] = 28'500'000;
  (*slow.terms)[TimeTerm::kEndWait] = 3'600'000;
  fast.bytes_sent_intra_node = {484'000'000}, slow.bytes_sent_intra_node = {1'350'000'000};
  const auto reason = reason_for(slow, fast);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(
      reason_text(*reason, slow, fast),
      "ring r8 is 19.9 ms slower: 28.5 ms of its transfers inside nodes are exposed, against 13.2 ms in cyclic u4 r2; "
      "it sends 1.35 GB a rank instead of 484 MB");
  slow.by_layer.resize(2);
  EXPECT_EQ(
      reason_text(*reason, slow, fast, OfPasses::kMean),
      "ring r8 is 9.95 ms a layer slower: 14.2 ms of its transfers inside nodes are exposed, against 6.60 ms in cyclic "
      "u4 r2; it sends 675 MB a rank instead of 242 MB");
  for (const auto& [low_ns, end] :
       {std::pair(49'900'000, "the fastest network of such hosts the difference is 1.20 ms"),
        std::pair(47'600'000, "On the fastest network of such hosts it is 1.10 ms faster"),
        std::pair(60'000'000, "instead of 484 MB")}) {
    slow.makespan_low_ns = low_ns;
    EXPECT_TRUE(reason_text(*reason, slow, fast).ends_with(end));
  }
  slow.makespan_low_ns.reset();
  (*slow.terms)[TimeTerm::kWireInside] = 25'000'000, (*slow.terms)[TimeTerm::kHost] = 7'000'000;
  EXPECT_EQ(reason_text(*reason_for(slow, fast), slow, fast),
            "ring r8 is 19.9 ms slower for two reasons. The first makes up 59 % of the difference: 25.0 ms of its "
            "transfers inside nodes are exposed, against 13.2 ms in cyclic u4 r2; it sends 1.35 GB a rank instead of "
            "484 MB. The second makes up 35 %: its ranks wait 7.00 ms on average for the host to issue operations");
  // Of one cause that is not enough the words have what is left of the difference.
  Reason one = *reason_for(slow, fast);
  one.causes.resize(1), one.shares.resize(1), one.removed_ns = 11'800'000;
  EXPECT_TRUE(
      reason_text(one, slow, fast).ends_with(". Without that it would still be 8.10 ms slower, for other reasons"));
}

// A heavy head and a slow link, each of which takes less than two thirds away.
TEST(Reason, TwoCausesThatAddUpComeWithTheirShares) {
  World world{.strategy = "ulysses"};
  world.cost.attend_ns_per_pair_channel = 0.1;
  const StrategyResult fast = result_of(world);
  world.heavy_head = 5, world.network.link_gbps = 0.8;
  const StrategyResult slow = result_of(world);
  const auto reason = reason_for(slow, fast);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(std::set(reason->causes.begin(), reason->causes.end()), (std::set{Cause::kLateRank, Cause::kWireInside}));
  EXPECT_GT(reason->shares.at(1), 0.2);
  EXPECT_NEAR(reason->share() * static_cast<double>(reason->difference_ns), static_cast<double>(reason->removed_ns), 1);
}

TEST(Reason, NeedsTermsAndSomethingThatTakesLonger) {
  const StrategyResult s = result_of({});
  EXPECT_FALSE(reason_for(s, s).has_value());
  EXPECT_FALSE(reason_for(s, StrategyResult()).has_value());
}

}  // namespace
}  // namespace spscope
