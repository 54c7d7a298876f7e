// Every kind of op moves and computes what it should: plans of patterns that no strategy of this version uses, run and
// compared with the reference.
#include <gtest/gtest.h>

#include "tests/support/one_sided_plan.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::run_and_check;
using testing::small_request;
using testing::small_spatiotemporal_request;
using testing::token_runs;

// TokenRing: queries visit the keys; unfinished rows travel home and are merged there.
ValueId visit_the_keys(PlanBuilder& b, const Placement& rows, AttendedAxis axis) {
  auto [q, kv] = b.input_qkv(rows, axis == AttendedAxis::kOuter ? 1 : 0);
  const AccId home = b.accumulate(q, axis);
  b.attend(home, kv);
  for (int step = 1; step < b.request().ranks; ++step) {
    q = b.wait(b.shift(q, b.everyone()));
    const AccId away = b.accumulate(q, axis);
    b.attend(away, kv, step);
    b.merge(home, b.wait(b.shift(b.partial(away), b.everyone(), -step, 2)));
  }
  return b.finish(home);
}

// By signals, or by a barrier.
TEST(OpKinds, PulledAndPushedKeysAreThereWhenTheyAreAttended) {
  const Request request = small_request(4);
  for (const bool pull : {true, false})
    for (const bool barrier : {true, false})
      EXPECT_EQ(run_and_check(testing::one_sided_plan(request, pull, barrier), request).verdict, Verdict::kPassed)
          << (pull ? "pull" : "push") << barrier;
}

TEST(OpKinds, UnfinishedRowsTravelInFp32AndMerge) {
  for (const auto& [ranks, dtype] : {std::pair{2, Dtype::kFp32}, {5, Dtype::kFp32}, {3, Dtype::kBf16}}) {
    const Request request = small_request(ranks, dtype);
    PlanBuilder b(request);
    const Placement rows = token_runs(b);
    b.output(visit_the_keys(b, rows, AttendedAxis::kInner), rows);
    EXPECT_EQ(run_and_check(b.take(), request).verdict, Verdict::kPassed) << ranks;
  }
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
  b.output(visit_the_keys(b, rows, AttendedAxis::kOuter), rows);
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

}  // namespace
}  // namespace spscope
