// Cases worked by hand. The recurrence of a ring whose ranks wait only for their neighbours is in imbalance_test.cpp,
// and tests/oracle schedules random plans of every strategy with a scheduler of its own.
#include "backend/schedule/schedule.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::attend_durations, testing::dense_mask, testing::head_runs, testing::plan_of, testing::token_runs,
    testing::usp_plan, testing::whole_at;

std::vector<OpTimes> times_of(const Plan& plan, const Timeline& timeline, PostKind kind) {
  std::vector<OpTimes> times;
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (plan.kind_of(plan.ops[id]) == kind) times.push_back(timeline.ops[id]);
  return times;
}

// Ops of 10 ns on a host that issues one every 4, then every 30: the slower of device and host shows.
TEST(Schedule, NoOpPostsBeforeTheHostHasIssuedIt) {
  const Request request = Request::attention(1, 1, 4, dense_mask(1, 1, 8));
  const Plan plan = plan_of(request, "single");
  const std::size_t n = plan.ops.size();
  ASSERT_GE(n, 2u);
  for (const std::int64_t gap_ns : {4, 30}) {
    std::vector<std::int64_t> issue_ns;
    for (std::size_t i = 0; i < n; ++i) issue_ns.push_back(static_cast<std::int64_t>(i) * gap_ns);
    const Timeline timeline = schedule(plan, std::vector<std::int64_t>(n, 10), Network::instant(1), issue_ns);
    std::int64_t end_ns = 0;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(timeline.ops[i].post_ns, std::max(end_ns, issue_ns[i]));
      end_ns = timeline.ops[i].end_ns;
    }
    EXPECT_EQ(end_ns, std::max(10 * static_cast<std::int64_t>(n), static_cast<std::int64_t>(n - 1) * gap_ns + 10));
  }
}

// 2 nodes of 2 ranks, rings across nodes: without a NIC limit a hop of 2 heads x 32 tokens x 8 x 2 bytes = 1024 takes
// 102.4; when the two flows of a node share a NIC as fast as one port, 204.8.
TEST(Schedule, FlowsOfANodeShareItsNic) {
  const Request request = Request::attention(4, 4, 4, dense_mask(4, 8, 8));
  const Plan plan = usp_plan(request, 2);
  const std::vector<std::int64_t> free(plan.ops.size(), 0);
  for (const double nic : {kUnlimited, 10.0}) {
    const Network network{.ranks = 4, .ranks_per_node = 2, .port_bytes_per_ns = 10, .nic_bytes_per_ns = nic};
    const Timeline timeline = schedule(plan, free, network);
    int num_hops = 0;
    for (std::size_t id = 0; id < plan.ops.size(); ++id) {
      const Op& op = plan.ops[id];
      if (plan.kind_of(op) != PostKind::kExchange || plan.group(op.group)[1] - plan.group(op.group)[0] != 2) continue;
      EXPECT_EQ(timeline.ops[id].end_ns - timeline.ops[id].begin_ns, nic == kUnlimited ? 103 : 205);
      ++num_hops;
    }
    EXPECT_EQ(num_hops, 4);
  }
}

// A hop of 256 bytes at 256/30 a nanosecond is under way for 30 of 100 ns of compute: 30 / 1.5 = 20 done, 80 left
// at 30.
TEST(Schedule, TwoSidedCommunicationSlowsComputeFromPostToEnd) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  const Plan plan = plan_of(request, "ring");
  const auto compute_ns = attend_durations(plan, [](const Op&, const Post&) { return 100; });
  const Network network{.ranks = 2, .ranks_per_node = 2, .port_bytes_per_ns = 256.0 / 30, .compute_slowdown = 1.5};
  const std::vector<OpTimes> attends = times_of(plan, schedule(plan, compute_ns, network), PostKind::kAttend);
  ASSERT_EQ(attends.size(), 4u);
  for (std::size_t first : {0u, 1u}) EXPECT_EQ(attends[first].end_ns, 110);
  for (std::size_t second : {2u, 3u}) EXPECT_EQ(attends[second].end_ns, 210);
}

// Kernels of 10, 8 and 100 beside a hop of 30: they end at 15, at 15 + 12, and with 2 done by 30 at 30 + 98.
TEST(Schedule, SlowsComputeThatStartsDuringCommunication) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  PlanBuilder b(request);
  const auto [q, kv] = b.input_qkv(token_runs(b));
  const Move hop = b.shift(kv, b.everyone());
  for (const char* kernel : {"first", "second", "third"}) b.local(kernel, std::vector<ValueId>{q});
  b.wait(hop);
  const Plan plan = b.take();
  std::vector<std::int64_t> compute_ns;
  for (const Op& op : plan.ops) {
    const KernelId kernel = plan.post_of(op).kernel;
    compute_ns.push_back(kernel == 0 ? 10 : kernel == 1 ? 8 : 100);
  }
  const Network network{.ranks = 2, .ranks_per_node = 2, .port_bytes_per_ns = 256.0 / 30, .compute_slowdown = 1.5};
  const std::vector<OpTimes> locals = times_of(plan, schedule(plan, compute_ns, network), PostKind::kLocal);
  EXPECT_EQ(locals[0].end_ns, 15);
  EXPECT_EQ(locals[2].end_ns, 15 + 12);
  EXPECT_EQ(locals[4].end_ns, 30 + 98);
}

// Rank 1 posts 40 ns after rank 0: rank 0 is slowed while it waits, too. By then 40 / 2 = 20 of its 100 are done, after
// 30 more 35, and the rest takes 65.
TEST(Schedule, WaitingForAPartnerSlowsComputeToo) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  PlanBuilder b(request);
  const auto [q, kv] = b.input_qkv(token_runs(b));
  const ValueId late = b.input(kQueries, whole_at(b, 1));
  b.local("late", std::vector<ValueId>{late});
  const Move hop = b.shift(kv, b.everyone());
  b.attend(b.accumulate(q), kv);
  b.wait(hop);
  const Plan plan = b.take();
  std::vector<std::int64_t> compute_ns;
  for (const Op& op : plan.ops) compute_ns.push_back(plan.kind_of(op) == PostKind::kLocal ? 40 : 100);
  const Network network{.ranks = 2, .ranks_per_node = 2, .port_bytes_per_ns = 256.0 / 30, .compute_slowdown = 2};
  const Timeline timeline = schedule(plan, compute_ns, network);
  EXPECT_EQ(times_of(plan, timeline, PostKind::kExchange)[0].post_ns, 0);
  EXPECT_EQ(times_of(plan, timeline, PostKind::kExchange)[0].begin_ns, 40);
  EXPECT_EQ(times_of(plan, timeline, PostKind::kExchange)[0].end_ns, 70);
  EXPECT_EQ(times_of(plan, timeline, PostKind::kAttend)[0].end_ns, 70 + 65);
}

// Three ranks send each other 100 bytes at 10 a nanosecond; rank 2 posts at 50. The messages between 0 and 1 are
// through at 10, so from 50 only those of rank 2 share its ports: 50 + 2 x 100 / 10.
TEST(Schedule, MessagesDoNotWaitForPartnersOfOtherMessages) {
  const Request request = Request::attention(3, 3, 1, dense_mask(3, 3, 50));
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, token_runs(b));
  const ValueId late = b.input(kOutputs, whole_at(b, 2));
  b.local("late", std::vector<ValueId>{late});
  b.reshard(q, head_runs(b));
  const Plan plan = b.take();
  std::vector<std::int64_t> compute_ns;
  for (const Op& op : plan.ops) compute_ns.push_back(plan.kind_of(op) == PostKind::kLocal ? 50 : 0);
  const Network network{.ranks = 3, .ranks_per_node = 3, .port_bytes_per_ns = 10};
  const auto exchanges = times_of(plan, schedule(plan, compute_ns, network), PostKind::kExchange);
  ASSERT_EQ(exchanges.size(), 3u);
  EXPECT_EQ(exchanges[0].post_ns, 0);
  EXPECT_EQ(exchanges[2].post_ns, 50);
  for (const OpTimes& times : exchanges) {
    EXPECT_EQ(times.begin_ns, 50);
    EXPECT_EQ(times.end_ns, 70);
  }
}

// Two pushes of 100 bytes meet on the in port of rank 2, the second 4 ns later. The first has 60 left then and half of
// the port: 16. The second has 40 left then, alone: 20.
TEST(Schedule, PushesThatMeetOnAPortShareIt) {
  const Request request = Request::attention(3, 1, 5, dense_mask(1, 2, 10));
  PlanBuilder b(request);
  const std::vector<SetId> half = b.sets().even(request.all_inner(), 2);
  const auto part = [&](int r) {
    return Box{request.all_heads(), request.all_outer(), half[static_cast<std::size_t>(r)]};
  };
  const ValueId value = b.input(kQueries, b.place([&](int r) { return r < 2 ? BoxList{part(r)} : BoxList{}; }));
  const ValueId other = b.input(kOutputs, b.place([&](int r) { return r == 1 ? BoxList{part(1)} : BoxList{}; }));
  b.local("slow", std::vector<ValueId>{other});
  b.wait(b.push(value, b.place([&](int r) { return r == 2 ? BoxList{request.whole()} : BoxList{}; })));
  const Plan plan = b.take();
  std::vector<std::int64_t> compute_ns;
  for (const Op& op : plan.ops) compute_ns.push_back(plan.kind_of(op) == PostKind::kLocal ? 4 : 0);
  const Network network{.ranks = 3, .ranks_per_node = 3, .port_bytes_per_ns = 10};
  std::vector<std::int64_t> ends_ns;
  const Timeline timeline = schedule(plan, compute_ns, network);
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (plan.kind_of(plan.ops[id]) == PostKind::kPush && !plan.ops[id].messages.empty())
      ends_ns.push_back(timeline.ops[id].end_ns);
  EXPECT_EQ(ends_ns, (std::vector<std::int64_t>{16, 20}));
}

// Rank 1 pulls what rank 0 makes in 50 ns, knows of it 7 ns later between nodes and 3 inside one, and waits as long
// again for its 100 bytes at 10 a nanosecond. Its own 60 ns of compute are not slowed down by a pull.
TEST(Schedule, ASignalOfAnotherRankTakesOneLatency) {
  for (const int ranks_per_node : {1, 2}) {
    const Request request = Request::attention(2, 1, 5, dense_mask(1, 1, 10));
    PlanBuilder b(request);
    const auto at_rank = [&](int holder) {
      return b.place([&, holder](int r) { return r == holder ? BoxList{request.whole()} : BoxList{}; });
    };
    const ValueId made = b.local("slow", std::vector<ValueId>{b.input(kQueries, at_rank(0))});
    const Move pull = b.pull(made, at_rank(1));
    const ValueId other = b.input(kQueries, at_rank(1), Axis::kHeads, 1);
    b.local("beside", std::vector<ValueId>{b.local("beside", std::vector<ValueId>{other})});
    b.wait(pull);
    const Plan plan = b.take();
    std::vector<std::int64_t> compute_ns;
    for (const Op& op : plan.ops) compute_ns.push_back(communicates(plan.kind_of(op)) ? 0 : op.rank == 0 ? 50 : 30);
    const Network network{.ranks = 2,
                          .ranks_per_node = ranks_per_node,
                          .port_bytes_per_ns = 10,
                          .intra_latency_ns = 3,
                          .inter_latency_ns = 7,
                          .compute_slowdown = 2};
    const Timeline timeline = schedule(plan, compute_ns, network);
    const std::int64_t latency_ns = ranks_per_node == 1 ? 7 : 3;
    const OpTimes pulled = times_of(plan, timeline, PostKind::kPull).back();
    EXPECT_EQ(pulled.post_ns, 50 + latency_ns);
    EXPECT_EQ(pulled.end_ns, 50 + 2 * latency_ns + 10);
    EXPECT_EQ(times_of(plan, timeline, PostKind::kLocal).back().end_ns, 60);
    EXPECT_EQ(plan.posts.at(1).collective, Collective::kOneSided);
  }
}

TEST(Schedule, AReduceAndABarrierBeginWhenTheWholeGroupHasPosted) {
  Request request = Request::attention(3, 3, 2, dense_mask(3, 3, 4));
  request.hidden = 6;
  request.kernels = {{"wo", true, Axis::kHeads, Axis::kHidden, kHiddenState}};
  PlanBuilder b(request);
  const ValueId o = b.input(kOutputs, head_runs(b));
  b.wait(b.reduce(b.linear(o, "wo"), token_runs(b, Axis::kHidden)));
  b.barrier();
  const Plan plan = b.take();
  std::vector<std::int64_t> compute_ns;
  for (const Op& op : plan.ops) compute_ns.push_back(plan.kind_of(op) == PostKind::kLocal ? 10 * (op.rank + 1) : 0);
  // Each share of 6 x 4 x 2 = 48 bytes; a rank sends and receives 96 at 12 a nanosecond.
  const Network network{.ranks = 3, .ranks_per_node = 3, .port_bytes_per_ns = 12, .intra_latency_ns = 5};
  const Timeline timeline = schedule(plan, compute_ns, network);
  for (const OpTimes& times : times_of(plan, timeline, PostKind::kReduce)) {
    EXPECT_EQ(times.begin_ns, 30);
    EXPECT_EQ(times.end_ns, 30 + 5 + 8);
  }
  for (const OpTimes& times : times_of(plan, timeline, PostKind::kBarrier)) {
    EXPECT_EQ(times.begin_ns, 43);
    EXPECT_EQ(times.end_ns, 43 + 5);
  }
  EXPECT_EQ(times_of(plan, timeline, PostKind::kReduce)[0].post_ns, 10);
}

TEST(Schedule, AnEmptyPlanTakesNoTime) {
  const Request request = Request::attention(2, 1, 4, dense_mask(1, 2, 4));
  PlanBuilder b(request);
  const Plan plan = b.take();
  EXPECT_EQ(schedule(plan, {}, Network::instant(2)).makespan_ns(), 0);
}

// Every time of a ring of two ranks. A hop of 256 bytes takes a latency of 6 and 30 on the ports, and slows compute by
// 1.5 until then. Rank 0: of step 0 (100) 36 / 1.5 = 24 are done at 36, the other 76 at 112; step 1 takes 50. Rank 1:
// step 0 takes 20 x 1.5 = 30, step 1 starts with the keys at 36 and takes 70.
TEST(Schedule, EveryTimeOfARingWorkedByHand) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  const Plan plan = plan_of(request, "ring");
  constexpr std::int64_t kWork[2][2] = {{100, 50}, {20, 70}};  // by rank and ring step
  const auto compute_ns =
      attend_durations(plan, [&](const Op& op, const Post& post) { return kWork[op.rank][post.ring_step]; });
  const Network network{
      .ranks = 2, .ranks_per_node = 2, .port_bytes_per_ns = 256.0 / 30, .intra_latency_ns = 6, .compute_slowdown = 1.5};
  const Timeline timeline = schedule(plan, compute_ns, network);
  const auto expect = [&](PostKind kind, const std::vector<std::array<std::int64_t, 3>>& wanted) {
    const std::vector<OpTimes> times = times_of(plan, timeline, kind);
    ASSERT_EQ(times.size(), wanted.size()) << post_kind_name(kind);
    for (std::size_t i = 0; i < times.size(); ++i)
      EXPECT_EQ((std::array{times[i].post_ns, times[i].begin_ns, times[i].end_ns}), wanted[i])
          << post_kind_name(kind) << " " << i;
  };
  expect(PostKind::kExchange, {{0, 0, 36}, {0, 0, 36}});
  expect(PostKind::kAttend, {{0, 0, 112}, {0, 0, 30}, {112, 112, 162}, {36, 36, 106}});
  expect(PostKind::kFinish, {{162, 162, 162}, {106, 106, 106}});
  EXPECT_EQ(timeline.makespan_ns(), 162);
}

}  // namespace
}  // namespace spscope
