// Whole layers on thread ranks, against the layer in double precision. The conformance tests have every strategy.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/execute/cpu/measure.h"
#include "tests/unit/execute/layer_cases.h"

namespace spscope {
namespace {

using testing::layer_request;
using testing::plan_of;
using testing::run_and_check;

// Where weights are cut, shares of the hidden state and of norm statistics are added up.
TEST(WholeLayer, EqualsTheReferenceWhetherTokensOrWeightsAreCut) {
  for (const LayerBlock block : {LayerBlock::kWan, LayerBlock::kJoint, LayerBlock::kDoubleStream,
                                 LayerBlock::kSingleStream, LayerBlock::kSpatialTemporal})
    for (const char* strategy : {"ulysses", "megatron_tp"}) {
      const Request request = layer_request({.block = block, .ranks = 3, .dtype = Dtype::kBf16, .batch = 2, .mlps = 2});
      const Verification v = run_and_check(plan_of(request, strategy), request);
      EXPECT_EQ(v.verdict, Verdict::kPassed) << strategy << " on block " << static_cast<int>(block) << v.max_error;
      EXPECT_EQ(v.num_rows, std::int64_t{request.batch} * request.outer_tokens * request.inner_tokens);
    }
}

// Of rows of 8 channels some have little variance, and their norms amplify the rounding of bf16: right layers may
// exceed what wide rows are off by.
TEST(WholeLayer, OfFewChannelsPasses) {
  const Request request = layer_request(
      {.block = LayerBlock::kSpatialTemporal, .dtype = Dtype::kBf16, .mlps = 2, .heads = 1, .head_dim = 8, .ffn = 16});
  const Plan plan = plan_of(request, "single");
  double largest = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Verification v = run_and_check(plan, request, seed);
    EXPECT_EQ(v.verdict, Verdict::kPassed) << seed << ": " << v.max_error;
    largest = std::max(largest, v.max_error);
  }
  EXPECT_GT(largest, 5e-4);
}

TEST(WholeLayer, IsMeasuredRankByRank) {
  const Request request = layer_request({.ranks = 2, .dtype = Dtype::kBf16});
  const Plan plan = plan_of(request, "ulysses");
  const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 5));
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    EXPECT_TRUE(plan.kind_of(plan.ops[id]) != PostKind::kLocal || ns[id] > 0) << id;
}

}  // namespace
}  // namespace spscope
