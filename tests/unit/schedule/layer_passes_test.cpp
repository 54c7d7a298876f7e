#include "backend/schedule/layer_passes.h"

#include <gtest/gtest.h>

#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::random_durations;
using testing::random_mask;
using testing::random_network;
using Times = std::vector<std::int64_t>;

std::int64_t total(const ScheduledPasses& scheduled) {
  std::int64_t sum = 0;
  for (const ScheduledPass& pass : scheduled.passes) sum += pass.makespan_ns;
  return sum;
}

// The same strategy recorded `layers` times by one builder: program order joins them, not join_passes().
Plan recorded_together(const Request& request, std::string_view name, int layers) {
  const Strategy& strategy = *find_strategy(name);
  const Parameters parameters(strategy.parameters());
  PlanBuilder builder(request);
  for (int layer = 0; layer < layers; ++layer)
    strategy.plan(builder, request, parameters, strategy.decide(request, parameters));
  return builder.take();
}

Request request_of(int ranks, std::uint64_t seed) {
  return Request::attention(ranks, 4, 8, random_mask(4, 8 * 4, 4, 0.5, seed));
}

// A ring of two ranks on a network that takes no time. In the first layer an attend takes 10 ns on rank 0 and 20 ns on
// rank 1, in the second the other way round. Rank 0 is done with the first layer at 20, computes what it holds until
// 40, when rank 1 posts its hop, and the rest until 60; rank 1 goes from 40 to 60.
TEST(LayerPasses, RanksDoNotMeetBetweenLayers) {
  const Request request = Request::attention(2, 1, 8, testing::dense_mask(1, 2, 4));
  const Plan plan = plan_of(request, "ring");
  const auto attends = [&](int slow) {
    return testing::attend_durations(plan, [&](const Op& op, const Post&) { return op.rank == slow ? 20 : 10; });
  };
  const Times first = attends(1), second = attends(0);
  const LayerPass passes[] = {{&plan, first}, {&plan, second}};
  const ScheduledPasses scheduled = schedule_passes(passes, Network::instant(2));
  ASSERT_EQ(scheduled.passes.size(), 2u);
  EXPECT_EQ(scheduled.passes[0].makespan_ns, 40);
  EXPECT_EQ(scheduled.passes[1].makespan_ns, 20);
  EXPECT_EQ(scheduled.passes[0].lead_ns, 0);
  EXPECT_EQ(scheduled.passes[1].lead_ns, 20) << "rank 0 begins it at 20, rank 1 ends the first at 40";
  EXPECT_EQ(scheduled.passes[1].timeline.makespan_ns(), 40) << "from 20 to 60";
  EXPECT_EQ(scheduled.leads, (RankLeads{0, 0}));
}

// Op by op, on networks with every kind of contention.
TEST(LayerPasses, EqualsTheScheduleOfLayersThatOneProgramRecords) {
  for (const char* strategy : {"ring", "ulysses", "allgather_kv"})
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Rng rng(seed);
      const int ranks = static_cast<int>(2 + rng.below(3));
      const Request request = request_of(ranks, seed);
      const Plan one = plan_of(request, strategy), three = recorded_together(request, strategy, 3);
      ASSERT_EQ(three.ops.size(), 3 * one.ops.size());
      const Network network = random_network(ranks, rng);
      const Times compute_ns = random_durations(three, rng);
      std::vector<LayerPass> passes;
      for (std::size_t i = 0; i < 3; ++i)
        passes.push_back({&one, std::span(compute_ns).subspan(i * one.ops.size(), one.ops.size())});
      const Timeline expected = schedule(three, compute_ns, network);
      const ScheduledPasses scheduled = schedule_passes(passes, network);
      EXPECT_EQ(total(scheduled), expected.makespan_ns()) << strategy << " seed " << seed;
      std::int64_t end_before = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const ScheduledPass& pass = scheduled.passes[i];
        const std::int64_t zero = end_before - pass.lead_ns;
        for (std::size_t op = 0; op < one.ops.size(); ++op) {
          const OpTimes &have = pass.timeline.ops[op], &want = expected.ops[i * one.ops.size() + op];
          ASSERT_EQ((Times{have.begin_ns + zero, have.end_ns + zero}), (Times{want.begin_ns, want.end_ns}))
              << strategy << " seed " << seed << " pass " << i << " op " << op;
        }
        end_before += pass.makespan_ns;
      }
    }
}

// Boxes and cells of messages are those of the plans, whose tables of sets differ.
TEST(LayerPasses, JoinedMessagesKeepTheirCells) {
  const Request first = request_of(4, 1), second = request_of(4, 2);
  const Plan plans[] = {plan_of(first, "ulysses"), plan_of(second, "ring")};
  const Times nothing[] = {Times(plans[0].ops.size(), 0), Times(plans[1].ops.size(), 0)};
  const LayerPass passes[] = {{&plans[0], nothing[0]}, {&plans[1], nothing[1]}};
  const Plan joined = join_passes(passes, {}).plan;
  std::size_t message = 0, op = 0;
  for (const Plan& plan : plans) {
    for (const Message& m : plan.messages)
      ASSERT_EQ(volume(*joined.sets, joined.messages.at(message++).box), volume(*plan.sets, m.box));
    for (const Op& o : plan.ops) {
      const Post &have = joined.post_of(joined.ops.at(op++)), &want = plan.post_of(o);
      ASSERT_EQ(have.src == kNone, want.src == kNone);
      if (want.src == kNone) continue;
      ASSERT_EQ(joined.cell_bytes(joined.values[static_cast<std::size_t>(have.src)]),
                plan.cell_bytes(plan.values[static_cast<std::size_t>(want.src)]));
    }
  }
  EXPECT_EQ(message, joined.messages.size());
}

// Ranks of the second call begin with the leads that the first one left.
TEST(LayerPasses, InSeveralCallsEqualOneWhereMessagesTakeNoTime) {
  const Request request = request_of(4, 5);
  const Plan plan = plan_of(request, "ring");
  Rng rng(3);
  std::vector<Times> compute_ns;
  for (int i = 0; i < 5; ++i) compute_ns.push_back(random_durations(plan, rng));
  std::vector<LayerPass> passes;
  for (const Times& durations : compute_ns) passes.push_back({&plan, durations});
  const ScheduledPasses whole = schedule_passes(passes, Network::instant(4));
  const std::span<const LayerPass> all(passes);
  const ScheduledPasses first = schedule_passes(all.first(2), Network::instant(4));
  const ScheduledPasses second = schedule_passes(all.subspan(2), Network::instant(4), first.leads);
  EXPECT_EQ(total(first) + total(second), total(whole));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second.passes[i].makespan_ns, whole.passes[i + 2].makespan_ns);
    EXPECT_EQ(second.passes[i].lead_ns, whole.passes[i + 2].lead_ns);
  }
}

}  // namespace
}  // namespace spscope
