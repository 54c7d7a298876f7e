// Every kind of op moves and computes what it should: plans of patterns that no strategy of this version uses, run and
// compared with the reference.
#include <gtest/gtest.h>

#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::run_and_check;
using testing::small_request;
using testing::small_spatiotemporal_request;
using testing::token_runs;

// All ranks fetch all keys one-sidedly.
Plan plan_with_pulls(const Request& request) {
  PlanBuilder b(request);
  const Placement rows = token_runs(b);
  const auto [q, kv] = b.input_qkv(rows);
  const ValueId all = b.wait(b.pull(kv, b.place([&](int) { return BoxList{request.whole()}; })));
  b.output(b.attend_all(q, all), rows);
  return b.take();
}

// Every rank puts its keys into all others' memory; a barrier says that they are there.
Plan plan_with_pushes(const Request& request, bool barrier) {
  PlanBuilder b(request);
  const Placement rows = token_runs(b);
  const auto [q, kv] = b.input_qkv(rows);
  const Move move = b.push(kv, b.place([&](int) { return BoxList{request.whole()}; }));
  if (barrier) b.barrier();
  b.output(b.attend_all(q, b.wait(move)), rows);
  return b.take();
}

// TokenRing: queries visit the keys; unfinished rows travel home and are merged there.
Plan plan_with_travelling_rows(const Request& request, AttendedAxis axis = AttendedAxis::kInner) {
  PlanBuilder b(request);
  const Placement rows = token_runs(b);
  auto [q, kv] = b.input_qkv(rows, axis == AttendedAxis::kOuter ? 1 : 0);
  const AccId home = b.accumulate(q, axis);
  b.attend(home, kv);
  for (int step = 1; step < request.ranks; ++step) {
    q = b.wait(b.shift(q, b.everyone()));
    const AccId away = b.accumulate(q, axis);
    b.attend(away, kv, step);
    b.merge(home, b.wait(b.shift(b.partial(away), b.everyone(), -step, 2)));
  }
  b.output(b.finish(home), rows);
  return b.take();
}

TEST(OpKinds, PullsBringWhatIsAttended) {
  const Request request = small_request(4);
  EXPECT_EQ(run_and_check(plan_with_pulls(request), request).verdict, Verdict::kPassed);
}

TEST(OpKinds, PushesAreSeenAfterTheirSignal) {
  const Request request = small_request(4);
  EXPECT_EQ(run_and_check(plan_with_pushes(request, false), request).verdict, Verdict::kPassed);
}

TEST(OpKinds, PushesAreSeenAfterABarrier) {
  const Request request = small_request(4);
  EXPECT_EQ(run_and_check(plan_with_pushes(request, true), request).verdict, Verdict::kPassed);
}

TEST(OpKinds, UnfinishedRowsTravelAndMerge) {
  for (const int ranks : {2, 3, 5}) {
    const Request request = small_request(ranks);
    EXPECT_EQ(run_and_check(plan_with_travelling_rows(request), request).verdict, Verdict::kPassed) << ranks;
  }
}

TEST(OpKinds, UnfinishedRowsAreFp32WhenValuesAreBf16) {
  const Request request = small_request(3, Dtype::kBf16);
  EXPECT_EQ(run_and_check(plan_with_travelling_rows(request), request).verdict, Verdict::kPassed);
}

// Attention along the outer axis has strided rows and transposed accumulators; unfinished rows of it travel too.
TEST(OpKinds, OuterAxisRowsMergeAndFinish) {
  const Request request = small_spatiotemporal_request(3);
  PlanBuilder b(request);
  const std::vector<SetId> frames = b.sets().even(request.all_outer(), 3);
  const Placement rows = b.place([&](int rank) {
    return BoxList{{request.all_heads(), frames[static_cast<std::size_t>(rank)], request.all_inner()}};
  });
  const auto [spatial_q, spatial_kv] = b.input_qkv(rows);
  b.output(b.attend_all(spatial_q, spatial_kv, AttendedAxis::kInner), rows);
  auto [q, kv] = b.input_qkv(rows, 1);
  const AccId home = b.accumulate(q, AttendedAxis::kOuter);
  b.attend(home, kv);
  for (int step = 1; step < 3; ++step) {
    q = b.wait(b.shift(q, b.everyone()));
    const AccId away = b.accumulate(q, AttendedAxis::kOuter);
    b.attend(away, kv, step);
    b.merge(home, b.wait(b.shift(b.partial(away), b.everyone(), -step)));
  }
  b.output(b.finish(home), rows);
  EXPECT_EQ(run_and_check(b.take(), request).verdict, Verdict::kPassed);
}

// Keys arrive in two halves and are attended as one view; rows are finished through a view of a narrower value.
TEST(OpKinds, ViewsReadTheBuffersOfTheirSources) {
  const Request request = small_request(2);
  PlanBuilder b(request);
  const Placement rows = token_runs(b);
  const auto [q, kv] = b.input_qkv(rows);
  const ValueId other = b.wait(b.shift(kv, b.everyone()));
  const ValueId both[] = {kv, other};
  const ValueId all = b.view(both);
  // A rank's own half of the union, and the union: both name the same memory.
  const AccId acc = b.accumulate(q);
  b.attend(acc, b.narrow(all, rows));
  b.attend(acc, other, 1);
  b.output(b.finish(acc), rows);
  EXPECT_EQ(run_and_check(b.take(), request).verdict, Verdict::kPassed);
}

// Blocks that lie in two buffers need no gathering: rows and keys held as cyclic single tokens, in two boxes a rank.
TEST(OpKinds, BlocksMayBeScatteredOverBuffers) {
  const Request request = small_request(2);
  PlanBuilder b(request);
  std::vector<std::int32_t> tokens[4];
  for (std::int32_t t = 0; t < request.inner_tokens; ++t) tokens[t % 4].push_back(t);
  const Placement rows = b.place([&](int rank) {
    BoxList boxes;
    for (int half = 0; half < 2; ++half)
      boxes.push_back({request.all_heads(), request.all_outer(), b.sets().indices(tokens[2 * half + rank])});
    return boxes;
  });
  const auto [q, kv] = b.input_qkv(rows);
  const ValueId all = b.reshard(kv, b.place([&](int) { return BoxList{request.whole()}; }));
  b.output(b.attend_all(q, all), rows);
  EXPECT_EQ(run_and_check(b.take(), request).verdict, Verdict::kPassed);
}

TEST(OpKinds, LocalKernelsAddElementByElement) {
  const Request request = small_request(2);
  PlanBuilder b(request);
  const Placement rows = token_runs(b);
  const auto [q, kv] = b.input_qkv(rows);
  const ValueId all = b.reshard(kv, b.place([&](int) { return BoxList{request.whole()}; }));
  const ValueId o = b.attend_all(q, all);
  const ValueId twice[] = {o, o};
  b.output(b.local("copy", {&o, 1}), rows);
  b.output(b.local("add", twice), rows);
  const ExecuteResult result = execute(b.take(), request, generate_activations(request, 5));
  ASSERT_EQ(result.outputs.size(), 2u);
  for (std::size_t i = 0; i < result.outputs[0].values.size(); ++i)
    ASSERT_EQ(result.outputs[1].values[i], 2 * result.outputs[0].values[i]) << i;
}

// A reduce of attention outputs, made by hand since no builder call leaves them pending: each rank attends over all
// keys, so that the sum over three ranks is three times the output, cut into parts.
TEST(OpKinds, AReduceAddsTheSharesOfItsGroup) {
  const Request request = small_request(3);
  PlanBuilder b(request);
  const Placement everywhere = b.place([&](int) { return BoxList{request.whole()}; });
  const auto [q, kv] = b.input_qkv(everywhere);
  const ValueId o = b.attend_all(q, kv);
  const Placement parts = token_runs(b);
  const ValueId moved = b.wait(b.exchange(o, parts.rotate(b.everyone())));  // becomes the reduce below
  b.output(moved, parts.rotate(b.everyone()));
  Plan plan = b.take();
  // The exchange was local (every rank has all); a reduce has a message from every rank to every part instead.
  Post& post = plan.posts.back();
  post.kind = PostKind::kReduce;
  post.lane = 1;
  plan.lanes = 2;
  plan.messages.clear(), plan.message_refs.clear();
  plan.groups = {{0, 3}}, plan.group_members = {0, 1, 2};
  const Placement placed = plan.values[static_cast<std::size_t>(moved)].placement;
  for (int dst = 0; dst < 3; ++dst)
    for (int src = 0; src < 3; ++src) {
      const Box& box = placed.at(dst).front();
      const std::int64_t bytes = volume(*plan.sets, box) * plan.cell_bytes(plan.values[static_cast<std::size_t>(o)]);
      plan.messages.push_back({src, dst, box, src == dst ? 0 : bytes});
    }
  for (Op& op : plan.ops) {
    if (plan.kind_of(op) != PostKind::kReduce) continue;
    op.group = 0;
    op.messages.begin = static_cast<std::int32_t>(plan.message_refs.size());
    for (MessageId m = 0; m < 9; ++m)
      if (plan.messages[static_cast<std::size_t>(m)].src == op.rank ||
          plan.messages[static_cast<std::size_t>(m)].dst == op.rank)
        plan.message_refs.push_back(m);
    op.messages.end = static_cast<std::int32_t>(plan.message_refs.size());
    // On its own lane it no longer follows the rank's compute by lane order: it depends on the finish.
    plan.dep_refs.push_back(kNone);
    op.deps = {static_cast<std::int32_t>(plan.dep_refs.size()) - 1, static_cast<std::int32_t>(plan.dep_refs.size())};
    for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
      if (plan.kind_of(plan.ops[static_cast<std::size_t>(id)]) == PostKind::kFinish &&
          plan.ops[static_cast<std::size_t>(id)].rank == op.rank)
        plan.dep_refs.back() = id;
  }
  const Activations activations = generate_activations(request, 5);
  ExecuteResult result = execute(plan, request, activations);
  for (float& x : result.outputs.front().values) x /= 3;
  EXPECT_EQ(Reference(request, activations, VerifyExtent::kFull, 0).check(result.outputs).verdict, Verdict::kPassed);
  EXPECT_EQ(result.traffic.sent, bytes_sent(plan));
}

}  // namespace
}  // namespace spscope
