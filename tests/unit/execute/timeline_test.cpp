// Times, bytes and memory of a run: they obey the plan's order, and they are what really happened. measure() times
// compute only, on the work that each rank really has.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "backend/base/ids.h"
#include "backend/execute/cpu/measure.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

// Lanes in order, dependencies ended, partners posted before data moves.
void expect_ordered(const Plan& plan, const Timeline& timeline) {
  std::vector<OpId> last(at(plan.ranks * plan.lanes), kNone);
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    const OpTimes& t = timeline.ops[at(id)];
    EXPECT_LE(0, t.post_ns) << id;
    EXPECT_LE(t.post_ns, t.begin_ns) << id;
    EXPECT_LE(t.begin_ns, t.end_ns) << id;
    for (OpId dep : plan.deps(op)) EXPECT_LE(timeline.ops[at(dep)].end_ns, t.begin_ns) << dep << " before " << id;
    OpId& previous = last[at(op.rank * plan.lanes + plan.post_of(op).lane)];
    if (previous != kNone) {
      EXPECT_LE(timeline.ops[at(previous)].end_ns, t.post_ns) << previous << " before " << id;
    }
    previous = id;
    for (const Op& other : plan.ops) {
      const bool partner = other.post == op.post && two_sided(plan.kind_of(op)) && other.group == op.group;
      if (partner && plan.ranks == 2) {
        EXPECT_LE(timeline.ops[at(static_cast<OpId>(&other - plan.ops.data()))].post_ns, t.begin_ns);
      }
    }
  }
}

TEST(ThreadRun, TimesObeyLanesDependenciesAndPartners) {
  for (const int ranks : {2, 4}) {
    const Request request = small_request(ranks);
    for (const char* strategy : {"ulysses", "ring"}) {
      const Plan plan = plan_of(request, strategy);
      ExecuteOptions options;
      options.repeats = 5;
      const ExecuteResult result = execute(plan, request, generate_activations(request, 1), options);
      ASSERT_EQ(result.timelines.size(), 5u);
      for (const Timeline& timeline : result.timelines) expect_ordered(plan, timeline);
      for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.makespan_ns[i], result.timelines[i].makespan_ns());
    }
  }
}

// The compute threads sleep through the first step; the hop, on its own lane, is over when they wake.
TEST(ThreadRun, CommunicationOverlapsCompute) {
  const Request request = small_request(2);
  const Plan plan = plan_of(request, "ring");
  ExecuteOptions options;
  options.before_op = [&](OpId id, const auto&) {
    if (plan.kind_of(plan.ops[at(id)]) == PostKind::kAttend) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  const ExecuteResult result = execute(plan, request, generate_activations(request, 1), options);
  std::int64_t hop_end_ns = 0, first_attend_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const PostKind kind = plan.kind_of(plan.ops[i]);
    if (kind == PostKind::kExchange) hop_end_ns = std::max(hop_end_ns, result.timelines[0].ops[i].end_ns);
    if (kind == PostKind::kAttend) first_attend_ns = std::min(first_attend_ns, result.timelines[0].ops[i].begin_ns);
  }
  EXPECT_LT(hop_end_ns, first_attend_ns);
}

// A rank that comes late shows in its partner as time between post and begin.
TEST(ThreadRun, ALatePartnerDelaysTheBeginOfATransfer) {
  const Request request = small_request(2);
  const Plan plan = plan_of(request, "ulysses");
  ExecuteOptions options;
  options.before_op = [&](OpId id, const auto&) {
    if (plan.ops[at(id)].rank == 1 && plan.ops[at(id)].post == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
  };
  const Timeline timeline = execute(plan, request, generate_activations(request, 1), options).timelines.front();
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].rank == 0 && plan.ops[i].post == 0) {
      EXPECT_GE(timeline.ops[i].begin_ns - timeline.ops[i].post_ns, 30'000'000);
    }
  }
}

TEST(ThreadRun, BytesAreCountedByNode) {
  const Request request = small_request(4);
  const Plan plan = plan_of(request, "ring");
  ExecuteOptions options;
  options.ranks_per_node = 2;
  const CountedBytes traffic = execute(plan, request, generate_activations(request, 1), options).traffic;
  EXPECT_EQ(traffic.sent, bytes_sent(plan));
  // A ring of 4 on 2 nodes: ranks 0 and 2 send to their neighbour inside the node, ranks 1 and 3 to the other node.
  for (const std::size_t rank : {0u, 2u}) EXPECT_EQ(traffic.sent_intra_node[rank], traffic.sent[rank]);
  for (const std::size_t rank : {1u, 3u}) EXPECT_EQ(traffic.sent_inter_node[rank], traffic.sent[rank]);
}

// Ulysses on one rank: 3 inputs, an accumulator of o, m and l and the output, all alive when the rows are finished,
// but keys and values are given up after the attend.
TEST(ThreadRun, PeakBytesAreThoseOfTheBuffersThatLiveTogether) {
  const Request request = small_request(1);
  const ExecuteResult result = execute(plan_of(request, "single"), request, generate_activations(request, 1));
  const std::int64_t rows = 4 * 100, tensor = rows * 8 * 4, accumulator = rows * (8 + 2) * 4;
  EXPECT_EQ(result.peak_bytes, std::vector<std::int64_t>{3 * tensor + accumulator});
}

TEST(ThreadRun, EveryRepeatGivesTheSameOutput) {
  const Request request = small_request(3);
  const Plan plan = plan_of(request, "ring");
  const Activations activations = generate_activations(request, 1);
  ExecuteOptions options;
  options.repeats = 4;
  options.warmup = 1;
  int runs = 0;
  options.on_run = [&](int done, int total) {
    EXPECT_EQ(done, ++runs);
    EXPECT_EQ(total, 5);
  };
  const ExecuteResult many = execute(plan, request, activations, options);
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(many.timelines.size(), 4u);
  EXPECT_EQ(many.outputs.front().values, execute(plan, request, activations).outputs.front().values);
}

TEST(Executors, AreFoundByTheirPair) {
  for (const Executor& executor : executors()) {
    EXPECT_EQ(find_executor(executor.device, executor.backend), &executor);  // no row hides another one
    EXPECT_FALSE(executor.comms.empty());
    EXPECT_FALSE(executor.summary.empty());
  }
  const ExecuteOptions defaults;
  EXPECT_EQ(find_executor(defaults.device, defaults.backend), executors().data());
  EXPECT_EQ(find_executor("cpu", "cpu"), nullptr);
}

TEST(Measure, ComputeHasTimesAndCommunicationHasNone) {
  for (const MeasureLoad load : {MeasureLoad::kAlone, MeasureLoad::kLoaded})
    for (const char* strategy : {"single", "ulysses", "ring"}) {
      const Request request = small_request(4);
      const Plan plan = plan_of(request, strategy);
      MeasureOptions options;
      options.load = load;
      const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 1), options);
      ASSERT_EQ(ns.size(), plan.ops.size());
      for (std::size_t i = 0; i < ns.size(); ++i)
        EXPECT_EQ(ns[i] > 0, !communicates(plan.kind_of(plan.ops[i]))) << strategy << " op " << i;
    }
}

// Head 0 attends to everything, head 1 to one block of 32: rank 0 has 32 times the work of rank 1.
TEST(Measure, ARankWithMoreTilesTakesLonger) {
  BlockMask mask(2, BlockMask::uniform_starts(1024, 32));
  for (std::int32_t q = 0; q < 32; ++q)
    for (std::int32_t k = 0; k < 32; ++k) mask.set(0, q, k);
  for (std::int32_t q = 0; q < 32; ++q) mask.set(1, q, q);
  const Request request = Request::attention(2, 2, 64, std::move(mask), Dtype::kFp32);
  const Plan plan = plan_of(request, "ulysses");
  const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 1));
  std::int64_t by_rank[2] = {0, 0};
  for (std::size_t i = 0; i < ns.size(); ++i)
    if (plan.kind_of(plan.ops[i]) == PostKind::kAttend) by_rank[plan.ops[i].rank] += ns[i];
  EXPECT_GT(by_rank[0], 4 * by_rank[1]);
}

TEST(Measure, AnInterruptStopsBothCores) {
  const Request request = small_request(2);
  std::atomic<bool> interrupt{true};
  for (const MeasureLoad load : {MeasureLoad::kAlone, MeasureLoad::kLoaded}) {
    MeasureOptions options;
    options.load = load;
    options.interrupt = &interrupt;
    EXPECT_THROW(measure(plan_of(request, "ring"), request, generate_activations(request, 1), options), Error);
  }
}

}  // namespace
}  // namespace spscope
