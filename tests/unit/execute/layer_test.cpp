// Whole layers of every block on thread ranks, against the layer in double precision; and what the verdict sees.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/execute/cpu/measure.h"
#include "backend/plan/verify.h"
#include "kernels/gemm.h"
#include "tests/unit/execute/layer_cases.h"

namespace spscope {
namespace {

using testing::hand_plan;
using testing::layer_request;
using testing::LayerCase;

ExecuteResult run(const Plan& plan, const Request& request, const Activations& activations) {
  ExecuteOptions options;
  options.poison = true;
  options.repeats = 2;
  return execute(plan, request, activations, options);
}

// Verified by the request's own plan; returns the verdict of its run.
Verification run_layer(Request request, bool by_weights = false, std::uint64_t seed = 5) {
  const Plan plan = hand_plan(request, by_weights);
  request.outputs = outputs_of(plan);
  for (const PlanProblem& problem : verify(plan, request))
    ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;
  const Activations activations = generate_activations(request, seed);
  const Verification v =
      Reference(request, activations, VerifyExtent::kFull, 0).check(run(plan, request, activations).outputs);
  EXPECT_EQ(v.num_rows, std::int64_t{request.batch} * request.outer_tokens * request.inner_tokens);
  return v;
}

class WholeLayer : public ::testing::TestWithParam<LayerBlock> {};

TEST_P(WholeLayer, EqualsTheReference) {
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable();
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
    for (const LayerCase& c :
         {LayerCase{.block = GetParam(), .dtype = dtype},
          LayerCase{.block = GetParam(), .ranks = 3, .dtype = dtype, .batch = 2, .mlps = 2},
          LayerCase{.block = GetParam(), .ranks = 2, .dtype = dtype, .text_first = true, .head_dim = 17, .ffn = 33}}) {
      const Verification v = run_layer(layer_request(c));
      EXPECT_EQ(v.verdict, Verdict::kPassed) << dtype_name(dtype) << " on " << c.ranks << ": " << v.max_error;
    }
}

INSTANTIATE_TEST_SUITE_P(Blocks, WholeLayer,
                         ::testing::Values(LayerBlock::kWan, LayerBlock::kJoint, LayerBlock::kDoubleStream,
                                           LayerBlock::kSingleStream, LayerBlock::kSpatialTemporal),
                         [](const auto& info) { return testing::block_name(info.param); });

// Sums of shares: of the hidden state, of norm statistics; columns with gaps between them.
TEST(WholeLayer, WithItsWeightsCutOverRanksEqualsTheReference) {
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable();
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
    for (const int ranks : {2, 3, 5}) {  // the fifth rank has no head: its shares are zeros
      const Verification v = run_layer(layer_request({.ranks = ranks, .dtype = dtype, .batch = 2}), true);
      EXPECT_EQ(v.verdict, Verdict::kPassed) << dtype_name(dtype) << " on " << ranks << ": " << v.max_error;
    }
}

// Of rows of 8 channels some have little variance, and their norms amplify the rounding of bf16: right layers may
// exceed what wide rows are off by.
TEST(WholeLayer, OfFewChannelsPasses) {
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable();
  double largest = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Verification v = run_layer(layer_request({.block = LayerBlock::kSpatialTemporal,
                                                    .dtype = Dtype::kBf16,
                                                    .mlps = 2,
                                                    .heads = 1,
                                                    .head_dim = 8,
                                                    .ffn = 16}),
                                     false, seed);
    EXPECT_EQ(v.verdict, Verdict::kPassed) << seed << ": " << v.max_error;
    largest = std::max(largest, v.max_error);
  }
  EXPECT_GT(largest, 5e-4);
}

TEST(WholeLayer, IsMeasuredRankByRank) {
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable();
  const Request request = layer_request({.ranks = 2, .dtype = Dtype::kBf16});
  const Plan plan = hand_plan(request);
  const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 5));
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (plan.kind_of(plan.ops[static_cast<std::size_t>(id)]) == PostKind::kLocal) {
      EXPECT_GT(ns[static_cast<std::size_t>(id)], 0) << id;
    }
}

// Kernels that layer_kernels.def lists for the blocks are those that the executor has.
TEST(WholeLayer, HasNoKernelThatTheExecutorLacks) {
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable();
  for (const LayerBlock block : {LayerBlock::kWan, LayerBlock::kJoint, LayerBlock::kDoubleStream,
                                 LayerBlock::kSingleStream, LayerBlock::kSpatialTemporal})
    EXPECT_TRUE(cannot_execute(hand_plan(layer_request({.block = block, .mlps = 2}))).empty())
        << testing::block_name(block);
}

TEST(WholeLayer, WithoutMatrixProductsIsRefusedWithTheReason) {
  if (kernels::gemm_unavailable().empty()) GTEST_SKIP() << "oneDNN is there";
  const std::vector<Problem> problems = cannot_execute(hand_plan(layer_request({})));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message.find("built without oneDNN"), std::string::npos);
}

}  // namespace
}  // namespace spscope
