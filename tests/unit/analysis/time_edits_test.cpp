#include "backend/analysis/time_edits.h"

#include <gtest/gtest.h>

#include "backend/base/ids.h"
#include "backend/base/result.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

// A cluster with contention of all kinds, and hosts that are sometimes slower than the devices.
ClusterPreset random_cluster(Rng& rng) {
  ClusterPreset cluster;
  NetworkProfile& network = cluster.network;
  network.link_gbps = 0.5 + 50 * rng.uniform();
  network.nic_gbps = 0.5 + 20 * rng.uniform();
  network.intra_latency_ns = static_cast<double>(rng.below(50));
  network.inter_latency_ns = static_cast<double>(rng.below(400));
  network.compute_slowdown = rng.below(2) == 0 ? 1 : 1 + rng.uniform();
  if (rng.below(2) == 0) network.all_to_all = {100 * rng.uniform(), 50 * rng.uniform(), 1 + rng.uniform()};
  cluster.cost.pack_ns_per_byte = rng.below(2) == 0 ? 0.01 * rng.uniform() : 0;
  if (rng.below(2) == 0) cluster.cost.host_ns_per_launch = static_cast<double>(rng.below(200));
  return cluster;
}

// Stored passes of a plan, and the times that their schedule gave.
struct Stored {
  EditablePasses passes;
  std::vector<std::vector<std::int64_t>> compute_ns;
  ScheduledPasses scheduled;
};

Stored stored_passes(const Plan& plan, const ClusterPreset& cluster, int per_node, Rng& rng) {
  Stored stored;
  stored.passes.cluster = cluster;
  stored.passes.gpus_per_node = per_node;
  stored.passes.hosts = cluster.cost.host_ns_per_launch > 0;
  const HostTimes host = host_times(plan, cluster.cost);
  std::vector<LayerPass> passes;
  const auto count = static_cast<std::size_t>(1 + rng.below(3));
  for (std::size_t i = 0; i < count; ++i) stored.compute_ns.push_back(testing::random_durations(plan, rng));
  for (const std::vector<std::int64_t>& compute_ns : stored.compute_ns) passes.push_back({&plan, compute_ns, &host});
  stored.scheduled = schedule_passes(passes, Network::of_cluster(cluster, plan.ranks, per_node));
  for (const ScheduledPass& pass : stored.scheduled.passes) stored.passes.passes.push_back({plan, pass.timeline});
  return stored;
}

class EditsOfEveryPlan : public testing::OfEveryPlan {};

TEST_P(EditsOfEveryPlan, NothingChangedGivesTheStoredTimes) {
  Rng rng(12);
  for (int trial = 0; trial < 5; ++trial) {
    const Stored stored = stored_passes(plan_, random_cluster(rng), static_cast<int>(1 + rng.below(plan_.ranks)), rng);
    const ScheduledPasses again = Rescheduler(stored.passes).run({});
    ASSERT_EQ(again.passes.size(), stored.scheduled.passes.size());
    for (std::size_t p = 0; p < again.passes.size(); ++p) {
      const ScheduledPass &was = stored.scheduled.passes[p], &is = again.passes[p];
      EXPECT_EQ(is.makespan_ns, was.makespan_ns);
      for (std::size_t id = 0; id < plan_.ops.size(); ++id) {
        ASSERT_LE(std::abs(is.timeline.ops[id].post_ns - was.timeline.ops[id].post_ns), 1) << "op " << id;
        ASSERT_LE(std::abs(is.timeline.ops[id].begin_ns - was.timeline.ops[id].begin_ns), 1) << "op " << id;
        ASSERT_LE(std::abs(is.timeline.ops[id].end_ns - was.timeline.ops[id].end_ns), 1) << "op " << id;
      }
      const std::vector<std::int64_t> compute_ns =
          undisturbed_compute(plan_, was.timeline, stored.passes.cluster.network.compute_slowdown);
      for (std::size_t id = 0; id < plan_.ops.size(); ++id)
        ASSERT_TRUE(communicates(plan_.kind_of(plan_.ops[id])) || compute_ns[id] == stored.compute_ns[p][id]) << id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Library, EditsOfEveryPlan, ::testing::ValuesIn(testing::plan_cases()),
                         [](const auto& info) { return info.param.name; });

// Ulysses of dense heads on a network without time: the makespan is the largest sum of attention of a rank.
TEST(Edits, ScaleTheAttentionOfRanks) {
  Request request = Request::attention(4, 4, 2, testing::dense_mask(4, 8, 2));
  const Plan plan = testing::plan_of(request, "ulysses");
  const std::vector<std::int64_t> of_rank = {100, 200, 300, 1000};
  const std::vector<std::int64_t> compute_ns =
      testing::attend_durations(plan, [&](const Op& op, const Post&) { return of_rank[at(op.rank)]; });
  EditablePasses stored;
  stored.cluster.network.link_gbps = 1e9;
  stored.gpus_per_node = 4;
  const Network network = Network::of_cluster(stored.cluster, 4, 4);
  stored.passes.push_back({plan, schedule(plan, compute_ns, network)});
  const auto makespan = [&](TimeEdit edit) { return Rescheduler(stored).run(edit).passes.front().makespan_ns; };
  const std::int64_t moving_ns = makespan({}) - 1000;
  EXPECT_LE(moving_ns, 4) << "messages that take next to no time, rounded up";
  EXPECT_EQ(makespan({TimeEditKind::kEvenlySpread}), 400 + moving_ns);
  EXPECT_EQ(makespan({TimeEditKind::kRankAsMean, 3}), 400 + moving_ns);
  CauseScales even;
  even[Cause::kLateRank] = 0;
  EXPECT_EQ(Rescheduler(stored).run_scaled(even).passes.front().makespan_ns, 400 + moving_ns);
  EXPECT_EQ(makespan({TimeEditKind::kRankAsMean, 0}), 1000 + moving_ns);
}

// Sums of ranks that are equal already: rank 2 waits in the second step for the hop that rank 0 posts at 400 ns.
TEST(Edits, SpreadTheAttentionOfEachRingStep) {
  const Plan plan = testing::plan_of(Request::attention(3, 1, 1, testing::dense_mask(1, 3, 2)), "ring");
  EditablePasses stored;
  stored.cluster.network.link_gbps = 1e9;
  stored.gpus_per_node = 3;
  const std::vector<std::int64_t> compute_ns = testing::attend_durations(
      plan, [](const Op& op, const Post& post) { return post.ring_step == op.rank ? 400 : 100; });
  stored.passes.push_back({plan, schedule(plan, compute_ns, Network::of_cluster(stored.cluster, 3, 3))});
  const auto makespan = [&](TimeEdit edit) { return Rescheduler(stored).run(edit).passes.front().makespan_ns; };
  EXPECT_NEAR(static_cast<double>(makespan({})), 800, 4);
  EXPECT_NEAR(static_cast<double>(makespan({TimeEditKind::kEvenlySpread})), 600, 4);
}

// One message of 1,000 bytes in each direction at 1 byte/ns after 50 ns, on one node or on two.
TEST(Edits, ChangeTheNetwork) {
  Request request = Request::attention(2, 2, 1, testing::dense_mask(2, 2, 125));
  const Plan plan = testing::plan_of(request, "ulysses");
  for (const int per_node : {2, 1}) {
    EditablePasses stored;
    stored.cluster.network.link_gbps = per_node == 2 ? 1 : 1e9;
    stored.cluster.network.nic_gbps = 1;
    stored.cluster.network.intra_latency_ns = stored.cluster.network.inter_latency_ns = 50;
    stored.gpus_per_node = per_node;
    const std::vector<std::int64_t> none(plan.ops.size(), 0);
    stored.passes.push_back({plan, schedule(plan, none, Network::of_cluster(stored.cluster, 2, per_node))});
    const auto makespan = [&](TimeEditKind kind) { return Rescheduler(stored).run({kind}).passes.front().makespan_ns; };
    const std::int64_t all_ns = makespan(TimeEditKind::kNone), without_ns = makespan(TimeEditKind::kNoLatency);
    const std::int64_t latency_ns = all_ns - without_ns;
    EXPECT_GT(without_ns, 0);
    EXPECT_EQ(latency_ns % 50, 0);
    EXPECT_GE(latency_ns, 100) << "there and back";
    const TimeEditKind used = per_node == 2 ? TimeEditKind::kFasterLinks : TimeEditKind::kFasterNics;
    const TimeEditKind other = per_node == 2 ? TimeEditKind::kFasterNics : TimeEditKind::kFasterLinks;
    EXPECT_NEAR(static_cast<double>(makespan(used)),
                static_cast<double>(latency_ns) + static_cast<double>(without_ns) / 2, 2);
    EXPECT_EQ(makespan(other), all_ns);
  }
}

// Also the schedule itself looks whether anybody still waits for it.
TEST(Edits, EndOnceTheyAreCancelled) {
  const Plan plan = testing::plan_of(Request::attention(64, 64, 1, testing::dense_mask(64, 64, 1)), "ulysses");
  EditablePasses stored;
  stored.cluster = *find_cluster_preset("local");
  stored.gpus_per_node = 64;
  const std::vector<std::int64_t> none(plan.ops.size(), 0);
  stored.passes.push_back({plan, schedule(plan, none, Network::of_cluster(stored.cluster, 64, 64))});
  const Rescheduler rescheduler(stored);
  const CancelToken token;
  EXPECT_GT(rescheduler.run({}, &token).passes.front().makespan_ns, 0);
  token.cancel();
  const auto cancelled = capture([&] { return rescheduler.run({}, &token); });
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace spscope
