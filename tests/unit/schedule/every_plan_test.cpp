// What holds for every plan of the library and any speeds of ranks, lanes and links.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/schedule/bound.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/imbalance.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

constexpr int kSpeeds = 40;  // random networks and durations a plan

class EveryPlan : public testing::OfEveryPlan {
 protected:
  // visit(timeline) for many speeds.
  template <typename Visit>
  void for_many_speeds(Visit&& visit) const {
    Rng rng(21);
    for (int trial = 0; trial < kSpeeds; ++trial) {
      const Network network = testing::random_network(plan_.ranks, rng);
      visit(schedule(plan_, testing::random_durations(plan_, rng), network));
    }
  }
};

TEST_P(EveryPlan, RunsInTheOrderOfItsDependenciesAndLanes) {
  for_many_speeds([&](const Timeline& timeline) {
    std::vector<std::int64_t> lane_end_ns(static_cast<std::size_t>(plan_.ranks * plan_.lanes), 0);
    for (std::size_t id = 0; id < plan_.ops.size(); ++id) {
      const Op& op = plan_.ops[id];
      const OpTimes& times = timeline.ops[id];
      ASSERT_LE(times.post_ns, times.begin_ns);
      ASSERT_LE(times.begin_ns, times.end_ns);
      for (OpId d : plan_.deps(op)) ASSERT_LE(timeline.ops[static_cast<std::size_t>(d)].end_ns, times.post_ns);
      std::int64_t& last = lane_end_ns[static_cast<std::size_t>(op.rank * plan_.lanes + plan_.post_of(op).lane)];
      ASSERT_LE(last, times.post_ns);
      last = times.end_ns;
    }
  });
}

TEST_P(EveryPlan, TwoSidedOpsBeginWhenTheirLastPartnerHasPosted) {
  for_many_speeds([&](const Timeline& timeline) {
    for (std::size_t id = 0; id < plan_.ops.size(); ++id) {
      const Op& op = plan_.ops[id];
      const PostKind kind = plan_.kind_of(op);
      if (!two_sided(kind)) continue;
      std::int64_t begin_ns = timeline.ops[id].post_ns;
      for (std::size_t other = 0; other < plan_.ops.size(); ++other) {
        const Op& partner = plan_.ops[other];
        if (partner.post != op.post || partner.group != op.group) continue;
        const bool talks = std::ranges::any_of(plan_.messages_of(op), [&](MessageId m) {
          const Message& message = plan_.messages[static_cast<std::size_t>(m)];
          return message.src == partner.rank || message.dst == partner.rank;
        });
        if (kind != PostKind::kExchange || talks) begin_ns = std::max(begin_ns, timeline.ops[other].post_ns);
      }
      ASSERT_EQ(timeline.ops[id].begin_ns, begin_ns) << "op " << id;
    }
  });
}

TEST_P(EveryPlan, StaysWithinItsMemoryBoundAtAnySpeeds) {
  const std::vector<std::int64_t> bound = memory_bound(plan_);
  for_many_speeds([&](const Timeline& timeline) {
    const std::vector<std::int64_t> peak = memory(plan_, timeline);
    for (std::size_t r = 0; r < peak.size(); ++r) ASSERT_LE(peak[r], bound[r]) << "rank " << r;
  });
}

TEST_P(EveryPlan, HasRatiosInOrder) {
  const ImbalanceRatios ratios = imbalance_ratios(plan_, attended_area(plan_));
  EXPECT_GE(ratios.plain, 1);
  EXPECT_GE(ratios.barrier, ratios.plain);
  EXPECT_GE(ratios.barrier_all_ranks, ratios.barrier);
  EXPECT_GE(ratios.coupled, ratios.plain);
}

TEST_P(EveryPlan, IsNoFasterThanTheMakespanBound) {
  constexpr KernelCostProfile kProfile{.attend_ns_per_launch = 100,
                                       .attend_ns_per_row = 2,
                                       .attend_ns_per_pair_channel = 0.5,
                                       .move_ns_per_byte = 0.25,
                                       .gemm_ns_per_flop = 0.125};
  const Plan whole = testing::build(
      [&](PlanBuilder& b, const Request& r) { testing::plan_whole_layer(b, r, GetParam().kind); }, request_);
  const Timeline timeline = schedule(plan_, op_durations(plan_, kProfile), Network::instant(plan_.ranks));
  EXPECT_LE(makespan_bound_ns(request_, whole, kProfile), timeline.makespan_ns());
}

INSTANTIATE_TEST_SUITE_P(Library, EveryPlan, ::testing::ValuesIn(testing::plan_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spscope
