// Plans of whole layers: every strategy on every block, with text sharded and replicated, is accepted by verify() or
// refused with a reason, and moves what the closed forms say.
#include <gtest/gtest.h>

#include <ostream>

#include "backend/base/rng.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/verify.h"
#include "backend/schedule/imbalance.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

struct LayerCase {
  const char* name;
  LayerBlock block;
  int text = 0, context = 0, mlps = 1;
  TextLayout layout = TextLayout::kShard;
  bool text_first = false;
};

void PrintTo(const LayerCase& c, std::ostream* out) { *out << c.name; }

constexpr LayerCase kCases[] = {
    {"wan", LayerBlock::kWan, 0, 5},
    {"wan_without_text", LayerBlock::kWan},
    {"joint", LayerBlock::kJoint, 7},
    {"joint_text_first", LayerBlock::kJoint, 7, 0, 1, TextLayout::kShard, true},
    {"joint_replicated", LayerBlock::kJoint, 7, 0, 1, TextLayout::kReplicate},
    {"joint_without_text", LayerBlock::kJoint},
    {"double", LayerBlock::kDoubleStream, 7},
    {"double_text_first", LayerBlock::kDoubleStream, 7, 0, 1, TextLayout::kShard, true},
    {"double_replicated", LayerBlock::kDoubleStream, 7, 0, 1, TextLayout::kReplicate},
    {"double_without_text", LayerBlock::kDoubleStream},
    {"single", LayerBlock::kSingleStream, 7},
    {"single_replicated", LayerBlock::kSingleStream, 7, 0, 1, TextLayout::kReplicate},
    {"spatial_temporal_one_mlp", LayerBlock::kSpatialTemporal, 0, 0, 1},
    {"spatial_temporal_two_mlps", LayerBlock::kSpatialTemporal, 0, 0, 2},
    {"spatial_temporal_with_text", LayerBlock::kSpatialTemporal, 0, 5, 2},
};

constexpr int kLayerHeads = 5, kLayerHeadDim = 4;
constexpr TokenGrid kGrid = {4, 3, 5};  // 60 video tokens, or 4 frames of 15

BlockMask random_mask(std::int32_t tokens, std::int32_t block, std::uint64_t seed) {
  BlockMask mask(kLayerHeads, BlockMask::uniform_starts(tokens, block));
  Rng rng(seed);
  for (int head = 0; head < kLayerHeads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (q == k || rng.uniform() < 0.4) mask.set(head, q, k);
  return mask;
}

Request make_request(const LayerCase& c, int ranks) {
  const bool factorised = c.block == LayerBlock::kSpatialTemporal;
  const std::int32_t video = factorised ? kGrid[1] * kGrid[2] : kGrid[0] * kGrid[1] * kGrid[2];
  Request request =
      Request::attention(ranks, kLayerHeads, kLayerHeadDim, random_mask(video + c.text, 4, 1), Dtype::kBf16);
  if (factorised) {
    request.outer_tokens = kGrid[0];
    request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, random_mask(kGrid[0], 1, 2));
    request.known_masks[0] = request.executed_masks[0];
  }
  request.block = c.block;
  request.ffn = 23;
  request.text_tokens = c.text;
  request.text_first = c.text_first;
  request.text = c.layout;
  request.context_tokens = c.context;
  request.mlps = c.mlps;
  request.grid = kGrid;
  request.kernels = layer_kernels(request);
  define_outputs(request);
  return request;
}

Parameters defaults(const Strategy& strategy) { return Parameters(strategy.parameters()); }

class LayerPlans : public ::testing::TestWithParam<LayerCase> {};

TEST_P(LayerPlans, OfEveryStrategyAreVerifiedOrRefusedWithAReason) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    const Request request = make_request(GetParam(), ranks);
    int legal = 0;
    for (const Strategy& strategy : strategies()) {
      std::vector<Parameters> settings = strategy.candidates(request);
      settings.push_back(defaults(strategy));
      for (const Parameters& setting : settings) {
        SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks));
        const std::vector<Problem> problems = strategy.legal(request, setting);
        for (const Problem& problem : problems) EXPECT_FALSE(problem.message.empty() || problem.hint.empty());
        if (!problems.empty()) continue;
        ++legal;
        const Plan plan = make_plan(strategy, request, setting);
        for (const PlanProblem& problem : verify(plan, request))
          ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;
      }
    }
    EXPECT_GE(legal, ranks <= kLayerHeads ? 4 : 2);
  }
}

// Around an attention there is only work that is the same for every token.
TEST(LayerImbalance, IsThatOfTheAttention) {
  for (const int ranks : {2, 3, 4})
    for (const char* name : {"ulysses", "ring", "usp"}) {
      ImbalanceRatios of[2];
      for (const bool layer : {false, true}) {
        Request request = make_request({"", LayerBlock::kSpatialTemporal}, ranks);
        if (!layer) request.block = LayerBlock::kAttention, request.kernels.clear();
        const Plan plan = make_plan(*find_strategy(name), request, defaults(*find_strategy(name)));
        of[layer] = imbalance_ratios(plan, attended_area(plan));
      }
      EXPECT_DOUBLE_EQ(of[0].plain, of[1].plain) << name << " on " << ranks;
      EXPECT_DOUBLE_EQ(of[0].barrier, of[1].barrier) << name << " on " << ranks;
      EXPECT_DOUBLE_EQ(of[0].barrier_all_ranks, of[1].barrier_all_ranks) << name << " on " << ranks;
    }
}

INSTANTIATE_TEST_SUITE_P(All, LayerPlans, ::testing::ValuesIn(kCases),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace spscope
