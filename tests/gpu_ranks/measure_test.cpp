// The compute of each rank alone on an emulated GPU: every compute op has a time, and messages have none.
#include <gtest/gtest.h>

#include "backend/execute/measure.h"
#include "backend/strategies/strategy.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;

TEST(GpuMeasure, ComputeHasTimesAndMessagesHaveNone) {
  const FakeCuda fake;
  const Request request = make_request(kSmallWorkloads[2], *find_pattern("sparge"), 2, Dtype::kBf16);
  const Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  int ranks = 0;
  MeasureOptions options;
  options.repeats = 2;
  options.on_rank = [&](int, int) { ++ranks; };
  const auto ns = measure_compute(plan, request, generate_activations(request, 1), "cuda", options);
  ASSERT_EQ(ns.size(), 2u);
  for (const std::vector<std::int64_t>& repeat : ns)
    for (std::size_t op = 0; op < plan.ops.size(); ++op) {
      const PostKind kind = plan.kind_of(plan.ops[op]);
      EXPECT_EQ(communicates(kind) && repeat[op] != 0, false) << op;
      EXPECT_EQ(kind == PostKind::kAttend && repeat[op] <= 0, false) << op;
    }
  EXPECT_EQ(ranks, 2);
  EXPECT_EQ(fake.fault(), "");
}

}  // namespace
}  // namespace spscope
