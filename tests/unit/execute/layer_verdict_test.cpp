// The verdict on whole layers sees what a run may get wrong: a tile, a gate, a weight, a position.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/program/program.h"
#include "kernels/gemm.h"
#include "tests/unit/execute/layer_cases.h"

namespace spscope {
namespace {

using testing::layer_request;
using testing::LayerCase;
using testing::plan_of;

class LayerVerdict : public ::testing::TestWithParam<Dtype> {
 protected:
  static LayerCase a_case(LayerBlock block) { return {.block = block, .dtype = GetParam()}; }

  // Of a run of `wrong`, judged by `right`, with parameters and input of `right`.
  static Verification judge(const Request& right, const Request& wrong, const Plan& plan) {
    const Activations activations = generate_activations(right, 5);
    const ExecuteResult result = execute(plan, wrong, activations);
    return Reference(right, activations, VerifyExtent::kFull, 0).check(result.outputs);
  }
  static void expect_seen(const Verification& v) {
    EXPECT_EQ(v.verdict, Verdict::kFailed);
    EXPECT_GT(v.max_error, 5e-3);  // ten times what bf16 may be off by
  }
};

TEST_P(LayerVerdict, AMissingTile) {
  const Request right = layer_request(a_case(LayerBlock::kWan));
  Request wrong = right;
  const BlockMask& whole = right.executed_mask().mask();
  BlockMask mask(whole.heads(), {whole.block_starts().begin(), whole.block_starts().end()});
  bool missing = false;
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k) {
        const bool leave_out = !missing && head == 1 && q == 2 && whole.active(head, q, k);
        mask.set(head, q, k, whole.active(head, q, k) && !leave_out);
        missing = missing || leave_out;
      }
  EXPECT_TRUE(missing);
  wrong.executed_masks[1] = std::make_shared<MaskCounter>(wrong.sets, mask);
  expect_seen(judge(right, wrong, plan_of(wrong, "single")));
}

// A gate that is left out; that of another part; the weight of another stream; queries that are not turned; frames that
// are turned as places in a frame.
TEST_P(LayerVerdict, AKernelThatIsTakenForAnotherOne) {
  struct Mistake {
    LayerBlock block;
    const char *kernel, *taken_for;
  };
  for (const Mistake& mistake : {Mistake{LayerBlock::kWan, "gate.ffn", "residual"},
                                 {LayerBlock::kJoint, "gate.text", "gate.video"},
                                 {LayerBlock::kDoubleStream, "wkv.text", "wkv.video"},
                                 {LayerBlock::kSingleStream, "head_rms_rope", "head_rms"},
                                 {LayerBlock::kSpatialTemporal, "head_rms_rope.temporal", "head_rms_rope.spatial"}}) {
    SCOPED_TRACE(mistake.kernel);
    const Request request = layer_request(a_case(mistake.block));
    Plan plan = plan_of(request, "single");
    const auto found = std::ranges::find(plan.kernels, mistake.kernel, &Kernel::name);
    ASSERT_NE(found, plan.kernels.end());
    found->name = mistake.taken_for;
    expect_seen(judge(request, request, plan));
  }
}

// Parameters of a Wan layer, computed as a block whose keys of the text are not normed.
TEST_P(LayerVerdict, KeysOfTheTextThatAreNotNormed) {
  const Request request = layer_request(a_case(LayerBlock::kWan));
  Request wrong = request;
  wrong.block = LayerBlock::kJoint;
  expect_seen(judge(request, wrong, plan_of(request, "single")));
}

// megatron_tp on four ranks leaves x whole at each. The verdict on what all of them hold when `change` has been added
// to the channels of one token at rank 3.
Verification judge_replicas(Dtype dtype, const std::function<float(std::size_t channel, float x)>& change) {
  constexpr std::size_t kToken = 40;
  const Request request = layer_request({.block = LayerBlock::kWan, .ranks = 4, .dtype = dtype});
  const Program program(plan_of(request, "megatron_tp"), RankView::all(request.ranks));
  const Plan& plan = program.plan();
  const Activations activations = generate_activations(request, 5);
  const std::vector<float> right = execute(plan, request, activations).outputs.front().values;
  BufferStore store(program.layout());
  store.start(program.users());
  for (SlotId slot = 0; slot < static_cast<SlotId>(program.users().size()); ++slot) store.open(slot);
  CellFinder finder(plan, program.layout());
  for (int rank = 0; rank < plan.ranks; ++rank) {
    std::vector<float> held = right;
    for (std::size_t c = 0; rank == 3 && c < static_cast<std::size_t>(request.hidden); ++c) {
      float& x = held[c * static_cast<std::size_t>(request.inner_tokens) + kToken];
      x += change(c, x);
    }
    std::size_t next = 0;
    for (const Box& box : plan.outputs.front().placement.at(rank)) {
      std::vector<float> part;
      for (std::size_t c = 0; c < static_cast<std::size_t>(request.hidden); ++c)
        for (const Span& run : plan.sets->spans(box.inner))
          for (std::int32_t t = run.begin; t < run.end; ++t, ++next)
            part.push_back(held[c * static_cast<std::size_t>(request.inner_tokens) + static_cast<std::size_t>(t)]);
      save_cells(store, finder.value_cells(plan.outputs.front().value, rank, box), 0, 0, part);
    }
    EXPECT_EQ(next, held.size());
  }
  std::vector<std::vector<float>> held;
  for (int rank = 0; rank < plan.ranks; ++rank) held.push_back(read_outputs(store, program.outputs(), rank));
  return Reference(request, activations, VerifyExtent::kFull, 0).check(program.outputs().gather(held));
}

TEST_P(LayerVerdict, AReplicaThatDiffersInOneRow) {
  const Verification same = judge_replicas(GetParam(), [](std::size_t, float) { return 0.0f; });
  EXPECT_EQ(same.verdict, Verdict::kPassed);
  const Verification scaled = judge_replicas(GetParam(), [](std::size_t, float x) { return 0.04f * x; });
  EXPECT_EQ(scaled.verdict, Verdict::kFailed);
  EXPECT_NEAR(scaled.max_error, 0.0016, 0.0003);
  const Verification one = judge_replicas(GetParam(), [](std::size_t c, float) { return c == 17 ? 0.5f : 0.0f; });
  EXPECT_EQ(one.verdict, Verdict::kFailed);
  const Verification nan =
      judge_replicas(GetParam(), [](std::size_t c, float) { return c == 17 ? std::nanf("") : 0.0f; });
  EXPECT_EQ(nan.verdict, Verdict::kFailed);
}

TEST_P(LayerVerdict, ASampleHasEveryTokenOfASmallLayer) {
  const Request request = layer_request(a_case(LayerBlock::kSpatialTemporal));
  EXPECT_EQ(Reference(request, generate_activations(request, 5), VerifyExtent::kSample, 0).num_rows(), 105);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, LayerVerdict, ::testing::Values(Dtype::kFp32, Dtype::kBf16),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

// Sampled rows are those of the whole: keys come from all tokens all the same.
TEST(LayerSample, EqualsTheWhole) {
  for (const LayerBlock block : {LayerBlock::kWan, LayerBlock::kDoubleStream, LayerBlock::kSpatialTemporal}) {
    const Request request = layer_request({.block = block, .batch = 2, .mlps = 2});
    const Activations activations = generate_activations(request, 5);
    std::vector<GridToken> all, some;
    for (std::int32_t outer = 0; outer < request.outer_tokens; ++outer)
      for (std::int32_t inner = 0; inner < request.inner_tokens; ++inner) {
        all.push_back({outer, inner});
        if (inner % 9 == 4 || inner == request.inner_tokens - 1) some.push_back({outer, inner});
      }
    const DenseRows whole = layer_reference(request, activations, 1, all);
    const DenseRows sample = layer_reference(request, activations, 1, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto place = std::ranges::find(all, some[i]) - all.begin();
      for (std::int64_t c = 0; c < request.hidden; ++c)
        ASSERT_NEAR(sample.row(static_cast<std::int64_t>(i))[c], whole.row(place)[c], 1e-12);
    }
  }
}

TEST(LayerSample, OfALargeModelIsRefusedWithItsWork) {
  Request request = layer_request({});
  request.hidden = 5120;
  request.heads = 40;
  request.head_dim = 128;
  request.ffn = 13824;
  request.inner_tokens = 75600;
  const std::vector<Problem> problems = cannot_verify(request, VerifyExtent::kSample);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].field, "run.verify");
  EXPECT_NE(problems[0].message.find("10^9 multiply-adds"), std::string::npos);
  EXPECT_TRUE(cannot_verify(request, VerifyExtent::kFull).empty());
  EXPECT_TRUE(cannot_verify(request, VerifyExtent::kOff).empty());
}

}  // namespace
}  // namespace spscope
