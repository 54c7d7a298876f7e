#include "backend/analysis/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/ids.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/analysis/two_ranks.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::two_rank_request, testing::two_rank_ring, testing::two_rank_times;

// The graph of a timeline by the rules of schedule.h, found by looking at all pairs of ops.
struct Graph {
  struct Node {
    std::vector<OpId> before, partners;   // that must end before it posts; that must post before it begins
    std::vector<std::int64_t> signal_ns;  // of each of `before`: how much later the op knows of its end
    std::int64_t post_gap_ns = 0, begin_gap_ns = 0, ns = 0;
  };
  std::vector<Node> ops;

  Graph(const Plan& plan, const Timeline& timeline, std::span<const std::int64_t> issue_ns, const Network* network) {
    for (OpId id = 0; at(id) < plan.ops.size(); ++id) {
      Node& node = ops.emplace_back();
      const Op& op = plan.ops[at(id)];
      for (const OpId d : plan.deps(op)) node.before.push_back(d);
      for (OpId other = id - 1; other >= 0; --other)
        if (plan.ops[at(other)].rank == op.rank && plan.post_of(plan.ops[at(other)]).lane == plan.post_of(op).lane) {
          node.before.push_back(other);
          break;
        }
      for (OpId other = 0; at(other) < plan.ops.size(); ++other)
        if (other != id && begin_together(plan, op, plan.ops[at(other)])) node.partners.push_back(other);
      const OpTimes& t = timeline.ops[at(id)];
      std::int64_t ready_ns = INT64_MIN, posted_ns = t.post_ns;
      for (const OpId d : node.before) {
        node.signal_ns.push_back(signal_ns(plan, network, d, id));
        ready_ns = std::max(ready_ns, timeline.ops[at(d)].end_ns + node.signal_ns.back());
      }
      for (const OpId p : node.partners) posted_ns = std::max(posted_ns, timeline.ops[at(p)].post_ns);
      const bool issued = !issue_ns.empty() && !node.before.empty();
      node.post_gap_ns = node.before.empty() ? t.post_ns : issued ? 0 : t.post_ns - ready_ns;
      node.begin_gap_ns = t.begin_ns - posted_ns;
      node.ns = t.end_ns - t.begin_ns;
    }
  }

  static bool begin_together(const Plan& plan, const Op& a, const Op& b) {
    if (a.post != b.post || !two_sided(plan.kind_of(a))) return false;
    if (plan.kind_of(a) != PostKind::kExchange) return a.group == b.group;
    return std::ranges::any_of(plan.messages_of(a), [&](MessageId m) {
      const Message& message = plan.messages[at(m)];
      return message.src == b.rank || message.dst == b.rank;
    });
  }

  // Of a dependency on an op of another rank, by a schedule.
  static std::int64_t signal_ns(const Plan& plan, const Network* network, OpId from, OpId to) {
    const int a = plan.ops[at(from)].rank, b = plan.ops[at(to)].rank;
    return network == nullptr || a == b ? 0 : network->latency_ns(a, b);
  }

  // The last end when op `late` takes `more_ns` longer.
  std::int64_t end_ns(const Plan& plan, std::span<const std::int64_t> issue_ns, OpId late, std::int64_t more_ns) const {
    std::vector<std::int64_t> post(ops.size()), end(ops.size());
    std::int64_t last_ns = INT64_MIN;
    for (std::size_t first = 0; first < ops.size();) {
      std::size_t next = first;
      for (; next < ops.size() && plan.ops[next].post == plan.ops[first].post; ++next) {
        if (next > first && !communicates(plan.kind_of(plan.ops[next]))) break;  // of a lane, one after the other
        std::int64_t ready_ns = ops[next].before.empty() ? 0 : INT64_MIN;
        for (std::size_t i = 0; i < ops[next].before.size(); ++i)
          ready_ns = std::max(ready_ns, end[at(ops[next].before[i])] + ops[next].signal_ns[i]);
        post[next] = ready_ns + ops[next].post_gap_ns;
        if (!issue_ns.empty()) post[next] = std::max(post[next], issue_ns[next]);
      }
      for (; first < next; ++first) {
        std::int64_t begin_ns = post[first];
        for (const OpId p : ops[first].partners) begin_ns = std::max(begin_ns, post[at(p)]);
        end[first] =
            begin_ns + ops[first].begin_gap_ns + ops[first].ns + (static_cast<OpId>(first) == late ? more_ns : 0);
        last_ns = std::max(last_ns, end[first]);
      }
    }
    return last_ns;
  }
};

// Steps tile [0, makespan], each comes after the one before it by a rule of the graph, and ops run for their own time.
void expect_chain(const Plan& plan, const Timeline& timeline, const CriticalPath& path) {
  ASSERT_FALSE(path.steps.empty());
  std::int64_t reached_ns = INT64_MAX;
  for (const OpTimes& t : timeline.ops) reached_ns = std::min(reached_ns, t.post_ns);
  ASSERT_EQ(path.total_ns(), timeline.makespan_ns());
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const PathStep& step = path.steps[i];
    ASSERT_EQ(step.begin_ns, reached_ns);
    ASSERT_LE(step.begin_ns, step.end_ns);
    reached_ns = step.end_ns;
    ASSERT_EQ(step.rank, plan.ops[at(step.op)].rank);
    if (step.share != PathShare::kIdle) {
      ASSERT_EQ(step.share == PathShare::kWire, communicates(plan.kind_of(plan.ops[at(step.op)])));
      ASSERT_EQ(step.begin_ns, timeline.ops[at(step.op)].begin_ns);
      ASSERT_EQ(step.end_ns, timeline.ops[at(step.op)].end_ns);
    }
    if (step.cause == PathCause::kStart) continue;
    const OpTimes& after = timeline.ops[at(step.after)];
    ASSERT_EQ(step.cause == PathCause::kLatePartner ? after.post_ns : after.end_ns,
              i > 0 && step.share == PathShare::kIdle ? step.begin_ns
              : i > 0 && path.steps[i - 1].share == PathShare::kIdle && step.cause != PathCause::kLatePartner
                  ? path.steps[i - 1].begin_ns
                  : step.begin_ns);
  }
}

// The ranks of the table of two_ranks.h: rank 1 starts late, moves its keys, attends longest and ends last.
TEST(CriticalPath, OfTwoRanksByHand) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const Timeline timeline = two_rank_times(plan);
  const CriticalPath path = critical_path(plan, timeline);
  std::vector<std::tuple<int, PathCause, PathShare, std::int64_t>> steps;
  for (const PathStep& s : path.steps) steps.emplace_back(s.rank, s.cause, s.share, s.ns());
  EXPECT_EQ(steps, (std::vector<std::tuple<int, PathCause, PathShare, std::int64_t>>{
                       {1, PathCause::kStart, PathShare::kIdle, 10},
                       {1, PathCause::kStart, PathShare::kWire, 40},
                       {1, PathCause::kTransfer, PathShare::kCompute, 60},
                       {1, PathCause::kLaneBefore, PathShare::kCompute, 10}}));
  EXPECT_EQ(path.of(PathShare::kCompute), 70);
  const TimeTerms terms = path_terms(plan, timeline, path, {});
  TimeTerms expected;
  expected[TimeTerm::kIdle] = 10, expected[TimeTerm::kWireInside] = 40, expected[TimeTerm::kTiles] = 60;
  expected[TimeTerm::kMerge] = 10;
  EXPECT_EQ(terms, expected);
  // From 20 ns on 30 ns of the transfer are left.
  expected[TimeTerm::kIdle] = 0, expected[TimeTerm::kWireInside] = 30;
  EXPECT_EQ(path_terms(plan, timeline, path, {}, 20), expected);

  // Rank 0 may end 30 ns later. Rank 1's first attend ends 20 ns before the keys are there.
  const std::vector<std::int64_t> slack = op_slack(plan, timeline);
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    const bool first_attend = plan.kind_of(op) == PostKind::kAttend && plan.post_of(op).ring_step == 0;
    EXPECT_EQ(slack[id], op.rank == 0 ? (first_attend ? 74 : 30) : first_attend ? 20 : 0) << id;
  }
}

class PathOfEveryPlan : public testing::OfEveryPlan {
 protected:
  // An op that ends later by its slack moves nothing, by one nanosecond more it moves the end by that.
  void expect_slack(const Timeline& timeline, std::span<const std::int64_t> issue_ns, const Network* network) const {
    const Graph graph(plan_, timeline, issue_ns, network);
    const std::vector<std::int64_t> slack = op_slack(plan_, timeline, issue_ns, network);
    const std::int64_t end_ns = graph.end_ns(plan_, issue_ns, kNone, 0);
    for (std::size_t id = 0; id < plan_.ops.size(); ++id) {
      ASSERT_EQ(graph.end_ns(plan_, issue_ns, static_cast<OpId>(id), slack[id]), end_ns) << "op " << id;
      ASSERT_EQ(graph.end_ns(plan_, issue_ns, static_cast<OpId>(id), slack[id] + 1), end_ns + 1) << "op " << id;
    }
  }
};

TEST_P(PathOfEveryPlan, TilesTheMakespanAndSlackIsWhatRescheduleSays) {
  Rng rng(5);
  for (int trial = 0; trial < 3; ++trial) {
    const Network network = testing::random_network(plan_.ranks, rng);
    const std::vector<std::int64_t> compute_ns = testing::random_durations(plan_, rng);
    const Timeline timeline = schedule(plan_, compute_ns, network);
    const CriticalPath path = critical_path(plan_, timeline, INT64_MAX, &network);
    expect_chain(plan_, timeline, path);
    std::int64_t signals_ns = 0;  // the only gaps
    for (const PathStep& step : path.steps)
      if (step.share == PathShare::kIdle) signals_ns += Graph::signal_ns(plan_, &network, step.after, step.op);
    EXPECT_EQ(path.of(PathShare::kIdle), signals_ns);
    TimeModels models;
    models.network = network;
    const TimeTerms terms = path_terms(plan_, timeline, path, models);
    EXPECT_EQ(terms.total(), timeline.makespan_ns());
    EXPECT_EQ(terms[TimeTerm::kIdle], 0);
    const std::vector<std::int64_t> slack = op_slack(plan_, timeline, {}, &network);
    for (const PathStep& step : path.steps) EXPECT_EQ(slack[at(step.op)], 0);
    expect_slack(timeline, {}, &network);
  }
}

// Ops that their host issues later than they could run.
TEST_P(PathOfEveryPlan, KnowsTimesOfIssue) {
  Rng rng(6);
  std::vector<std::int64_t> issue_ns, host_ns(at(plan_.ranks), 0);
  for (const Op& op : plan_.ops) issue_ns.push_back(host_ns[at(op.rank)] += rng.below(150));
  const std::vector<std::int64_t> compute_ns = testing::random_durations(plan_, rng);
  const Network network = testing::random_network(plan_.ranks, rng);
  const Timeline timeline = schedule(plan_, compute_ns, network, issue_ns);
  expect_chain(plan_, timeline, critical_path(plan_, timeline, INT64_MAX, &network));
  expect_slack(timeline, issue_ns, &network);
}

// Measured times: launches take a while, and the clocks of ranks are some nanoseconds off.
TEST_P(PathOfEveryPlan, ServesMeasuredTimes) {
  Rng rng(7);
  Timeline timeline = schedule(plan_, testing::random_durations(plan_, rng), testing::random_network(plan_.ranks, rng));
  for (std::size_t id = 0; id < plan_.ops.size(); ++id) {
    OpTimes& t = timeline.ops[id];
    const std::int64_t off = plan_.ops[id].rank % 3, stretch = t.end_ns / 5;
    t.post_ns += off + t.post_ns / 5, t.begin_ns += off + t.begin_ns / 5, t.end_ns += off + stretch;
    if (!communicates(plan_.kind_of(plan_.ops[id])))
      t.begin_ns = t.post_ns = std::min(t.end_ns, t.post_ns + rng.below(3));
  }
  const CriticalPath path = critical_path(plan_, timeline);
  ASSERT_EQ(path.total_ns(), timeline.makespan_ns());
  for (std::size_t i = 1; i < path.steps.size(); ++i) ASSERT_EQ(path.steps[i].begin_ns, path.steps[i - 1].end_ns);
  EXPECT_EQ(path_terms(plan_, timeline, path, {}).total(), timeline.makespan_ns());
  expect_slack(timeline, {}, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Library, PathOfEveryPlan, ::testing::ValuesIn(testing::plan_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spscope
