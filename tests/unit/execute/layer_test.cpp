// Whole layers of every block on thread ranks, against the layer in double precision; and what the verdict sees.
#include <gtest/gtest.h>

#include "backend/plan/verify.h"
#include "kernels/gemm.h"
#include "tests/unit/execute/layer_cases.h"

namespace spscope {
namespace {

using testing::hand_plan;
using testing::layer_request;
using testing::LayerCase;

#define SKIP_WITHOUT_GEMM() \
  if (!kernels::gemm_unavailable().empty()) GTEST_SKIP() << kernels::gemm_unavailable()

ExecuteResult run(const Plan& plan, const Request& request, const Activations& activations) {
  ExecuteOptions options;
  options.poison = true;
  options.repeats = 2;
  return execute(plan, request, activations, options);
}

// Verified by the request's own plan; returns the verdict of its run.
Verification run_layer(Request request, bool by_weights = false) {
  const Plan plan = hand_plan(request, by_weights);
  request.outputs = outputs_of(plan);
  for (const PlanProblem& problem : verify(plan, request))
    ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;
  const Activations activations = generate_activations(request, 5);
  const Verification v =
      Reference(request, activations, VerifyExtent::kFull, 0).check(run(plan, request, activations).outputs);
  EXPECT_EQ(v.num_rows, std::int64_t{request.batch} * request.outer_tokens * request.inner_tokens);
  return v;
}

class WholeLayer : public ::testing::TestWithParam<LayerBlock> {};

TEST_P(WholeLayer, EqualsTheReference) {
  SKIP_WITHOUT_GEMM();
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
  SKIP_WITHOUT_GEMM();
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
    for (const int ranks : {2, 3}) {
      const Verification v = run_layer(layer_request({.ranks = ranks, .dtype = dtype, .batch = 2}), true);
      EXPECT_EQ(v.verdict, Verdict::kPassed) << dtype_name(dtype) << " on " << ranks << ": " << v.max_error;
    }
}

}  // namespace
}  // namespace spscope
