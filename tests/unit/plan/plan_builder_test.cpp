// What the builder records: routes, program order, signals and fences, views, and the hash of a plan.
#include "backend/plan/plan_builder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/error.h"
#include "backend/plan/verify.h"
#include "tests/support/editable_plan.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

constexpr LayerShape kShape{.ranks = 4, .heads = 4, .head_dim = 2, .inner = 32};

struct Building {
  Request request = layer_request(kShape, LayerKind::kAttention);
  PlanBuilder builder{request};

  Box tokens(std::int32_t begin, std::int32_t end) {
    return {request.all_heads(), request.all_outer(), builder.sets().span(begin, end)};
  }
  Placement quarters() {
    return builder.place([&](int rank) { return BoxList{tokens(8 * rank, 8 * rank + 8)}; });
  }
};

std::vector<Op> ops_of(const Plan& plan, PostKind kind) {
  std::vector<Op> ops;
  for (const Op& op : plan.ops)
    if (plan.kind_of(op) == kind) ops.push_back(op);
  return ops;
}

TEST(PlanBuilder, TakesFromItselfThenFromTheNextHolderInGroupOrder) {
  Building t;
  // Everybody holds the first half; ranks 1 and 3 the second.
  const ValueId q = t.builder.input(kQueries, t.builder.place([&](int rank) {
    return rank % 2 == 0 ? BoxList{t.tokens(0, 16)} : BoxList{t.tokens(0, 16), t.tokens(16, 32)};
  }));
  t.builder.reshard(q, t.builder.place([&](int) { return BoxList{t.tokens(0, 32)}; }));
  const Plan plan = t.builder.take();
  std::vector<std::array<int, 3>> routes;  // receiver, sender, first token
  for (const Message& m : plan.messages) routes.push_back({m.dst, m.src, plan.sets->spans(m.box.inner).front().begin});
  const std::vector<std::array<int, 3>> wanted = {{0, 0, 0}, {0, 1, 16}, {1, 1, 0}, {1, 1, 16},
                                                  {2, 2, 0}, {2, 3, 16}, {3, 3, 0}, {3, 3, 16}};
  EXPECT_EQ(routes, wanted);
  for (const Message& m : plan.messages) EXPECT_EQ(m.bytes, m.src == m.dst ? 0 : 4 * 16 * 2 * 2);
}

TEST(PlanBuilder, RefusesToMoveWhatNobodyHolds) {
  Building t;
  const ValueId q = t.builder.input(kQueries, t.quarters());
  try {
    t.builder.reshard(q, t.builder.place([&](int) { return BoxList{t.tokens(0, 16)}; }), {{0, 1}, {2, 3}});
    FAIL() << "ranks 2 and 3 hold none of it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPlanNotHeld);
  }
}

TEST(PlanBuilder, GroupsThatOnlyRearrangeMakeACopy) {
  Building t;
  const ValueId q = t.builder.input(kQueries, t.quarters());
  // Ranks 0 and 1 swap; 2 and 3 keep less than they have.
  t.builder.reshard(q, t.builder.place([&](int rank) {
    return BoxList{rank < 2 ? t.tokens(8 - 8 * rank, 16 - 8 * rank) : t.tokens(8 * rank, 8 * rank + 4)};
  }),
                    {{0, 1}, {2, 3}});
  const Plan plan = t.builder.take();
  ASSERT_EQ(plan.posts.size(), 2u);
  EXPECT_EQ(plan.posts[0].kind, PostKind::kCopy);
  EXPECT_EQ(plan.posts[0].lane, 0);
  EXPECT_EQ(plan.posts[1].kind, PostKind::kExchange);
  EXPECT_EQ(ops_of(plan, PostKind::kCopy).size(), 2u);
  EXPECT_EQ(ops_of(plan, PostKind::kExchange).size(), 2u);
}

TEST(PlanBuilder, PostsWaitForTheComputeRecordedBeforeThem) {
  Building t;
  const ValueId q = t.builder.input(kQueries, t.quarters());
  const ValueId turned = t.builder.local("rope", {&q, 1});
  t.builder.wait(t.builder.shift(q, t.builder.everyone()));
  const Plan plan = t.builder.take();
  ASSERT_NE(turned, q);
  for (const Op& op : ops_of(plan, PostKind::kExchange)) {
    ASSERT_EQ(plan.deps(op).size(), 1u);
    const Op& dep = plan.ops[static_cast<std::size_t>(plan.deps(op)[0])];
    EXPECT_EQ(plan.kind_of(dep), PostKind::kLocal);
    EXPECT_EQ(dep.rank, op.rank);
  }
}

TEST(PlanBuilder, PullsWaitForTheOwnersOp) {
  Building t;
  const ValueId q = t.builder.input(kQueries, t.quarters());
  const ValueId turned = t.builder.local("rope", {&q, 1});
  t.builder.wait(t.builder.pull(turned, t.builder.placement_of(turned).rotate(t.builder.everyone())));
  const Plan plan = t.builder.take();
  for (const Op& op : ops_of(plan, PostKind::kPull)) {
    const auto deps = plan.deps(op);
    EXPECT_TRUE(std::ranges::any_of(
        deps, [&](OpId id) { return plan.ops[static_cast<std::size_t>(id)].rank == (op.rank + 3) % 4; }))
        << "rank " << op.rank;
  }
}

TEST(PlanBuilder, PullsAndPushesStayInTheirGroups) {
  for (const bool pull : {true, false}) {
    Building t;
    const Groups halves = {{0, 1}, {2, 3}};
    // Held twice, once in each half: everybody as one group would take the nearest holder.
    const ValueId q = t.builder.input(kQueries, t.builder.place([&](int rank) {
      return rank == 0 || rank == 3 ? BoxList{t.request.whole()} : BoxList{};
    }));
    const Placement wanted = t.builder.place([&](int) { return BoxList{t.request.whole()}; });
    t.builder.wait(pull ? t.builder.pull(q, wanted, halves) : t.builder.push(q, wanted, halves));
    for (const Message& m : t.builder.take().messages) EXPECT_EQ(m.src / 2, m.dst / 2);
  }
}

TEST(PlanBuilder, ABarrierReplacesSignalsInsideItsGroupsOnly) {
  for (const bool together : {true, false}) {
    Building t;
    const Groups all = {{0, 1, 2, 3}}, halves = {{0, 1}, {2, 3}};
    ValueId q = t.builder.input(kQueries, t.quarters());
    const ValueId kv = t.builder.input(kKeysValues, t.quarters());
    q = t.builder.local("rope", {&q, 1});
    t.builder.barrier(together ? all : halves);
    const ValueId moved = t.builder.wait(t.builder.pull(q, t.quarters().rotate(all), {}, 2));
    const ValueId home = t.builder.reshard(moved, t.quarters(), {}, 2);
    t.builder.output(t.builder.attend_all(
                         home, t.builder.reshard(kv, t.builder.place([&](int) { return BoxList{t.request.whole()}; }))),
                     t.quarters());
    const Plan plan = t.builder.take();
    // Rank 0 pulls from rank 3, of the other half.
    const Op pull = ops_of(plan, PostKind::kPull).front();
    ASSERT_EQ(pull.rank, 0);
    const bool signalled =
        std::ranges::any_of(plan.deps(pull), [&](OpId id) { return plan.ops[static_cast<std::size_t>(id)].rank == 3; });
    EXPECT_EQ(signalled, !together);
    for (const PlanProblem& p : verify(plan, t.request)) EXPECT_EQ(p.rule, Rule::kTerm) << p.text;  // rope is no layer
  }
}

TEST(PlanBuilder, ViewsNameBasesOnly) {
  Building t;
  const ValueId q = t.builder.input(kQueries, t.quarters());
  const ValueId half =
      t.builder.narrow(q, t.builder.place([&](int rank) { return BoxList{t.tokens(8 * rank, 8 * rank + 4)}; }));
  const ValueId rest =
      t.builder.narrow(q, t.builder.place([&](int rank) { return BoxList{t.tokens(8 * rank + 4, 8 * rank + 8)}; }));
  const ValueId again = t.builder.view(std::vector{half, rest});
  const Plan plan = t.builder.take();
  const auto sources = plan.value_list(plan.values[static_cast<std::size_t>(again)].sources);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0], q);
  EXPECT_EQ(plan.values[static_cast<std::size_t>(again)].placement.at(1).size(), 2u);
  EXPECT_TRUE(plan.ops.empty());
}

TEST(PlanBuilder, EmptyProductsMakeNoOps) {
  const Request request = layer_request(kShape, LayerKind::kAttention);
  const Plan plan = build(strategy_plan("ring"), request);
  for (const Op& op : ops_of(plan, PostKind::kAttend)) EXPECT_GT(op.tiles, 0);
  std::int64_t area = 0;
  for (int head = 0; head < request.heads; ++head) area += request.executed_mask().mask().head_area(head);
  std::int64_t flops = 0;
  for (const Op& op : ops_of(plan, PostKind::kAttend)) flops += op.flops;
  EXPECT_EQ(flops, 4 * area * request.head_dim);
}

// -- the hash

std::uint64_t ring_hash(const std::function<void(EditablePlan&)>& edit) {
  const Request request = layer_request(kShape, LayerKind::kAttention);
  EditablePlan plan(build(strategy_plan("ring"), request));
  edit(plan);
  return plan_hash(plan.flatten());
}

TEST(PlanHash, DependsOnContentsAndNotOnWhatTheTableHasSeen) {
  const std::uint64_t hash = ring_hash([](EditablePlan&) {});
  const Request request = layer_request(kShape, LayerKind::kAttention);
  for (std::int32_t i = 0; i < 30; ++i) request.sets->span(i, i + 1);
  EXPECT_EQ(plan_hash(build(strategy_plan("ring"), request)), hash);
}

TEST(PlanHash, ChangesWithEveryField) {
  const std::vector<std::function<void(EditablePlan&)>> edits = {
      [](EditablePlan& p) { p.shell.batch = 2; },
      [](EditablePlan& p) { p.shell.dtype = Dtype::kFp32; },
      [](EditablePlan& p) { ++p.shell.tensor_width[0]; },
      [](EditablePlan& p) { ++p.ops[3].fields.tiles; },
      [](EditablePlan& p) { ++p.ops[3].fields.flops; },
      [](EditablePlan& p) { p.ops[0].fields.rank = 1; },
      [](EditablePlan& p) { p.ops.back().deps.push_back(0); },
      [](EditablePlan& p) { p.posts[0].fields.lane = 2; },
      [](EditablePlan& p) { p.posts[1].fields.ring_step = 9; },
      [](EditablePlan& p) { p.posts[1].fields.balances = true; },
      [](EditablePlan& p) { p.posts[1].fields.by_index = true; },
      [](EditablePlan& p) { p.posts[1].fields.acc = kNone; },
      [](EditablePlan& p) { p.shell.messages[0].bytes += 2; },
      [](EditablePlan& p) { std::swap(p.shell.messages[0].src, p.shell.messages[0].dst); },
      [](EditablePlan& p) { p.shell.messages[0].box.columns = kEmptySet; },
      [](EditablePlan& p) { p.values[0].fields.layer = 1; },
      [](EditablePlan& p) { p.values[0].fields.given = false; },
      [](EditablePlan& p) { p.values[1].placement[0].clear(); },
      [](EditablePlan& p) { p.shell.masks[0].slices = 2; },
      [](EditablePlan& p) { p.shell.accumulators[0].q = 1; },
      [](EditablePlan& p) { p.shell.accumulators[0].axis = AttendedAxis::kOuter; },
      [](EditablePlan& p) {
        p.shell.kernels.push_back({"wq", true, Axis::kHidden, Axis::kHeads, kQueries});
      },
      [](EditablePlan& p) {
        p.shell.kernels.push_back({"wq", true, Axis::kHidden, Axis::kFfn, kQueries});
      },
      [](EditablePlan& p) { std::swap(p.groups[0][0], p.groups[0][1]); },
      [](EditablePlan& p) { p.outputs[0].value = 0; },
      [](EditablePlan& p) { p.outputs[0].placement[0].clear(); },
      [](EditablePlan& p) { p.outputs.pop_back(); },
  };
  std::vector<std::uint64_t> hashes = {ring_hash([](EditablePlan&) {})};
  for (const auto& edit : edits) hashes.push_back(ring_hash(edit));
  for (std::size_t i = 0; i < hashes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << "edits " << i << " and " << j;
}

}  // namespace
}  // namespace spscope::testing
