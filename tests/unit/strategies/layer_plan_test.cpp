// Plans of whole layers. That those of every strategy are right is proven by the conformance tests.
#include <gtest/gtest.h>

#include "backend/base/rng.h"
#include "backend/plan/layer_kernels.h"
#include "backend/schedule/imbalance.h"
#include "backend/strategies/strategy.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

constexpr int kLayerHeads = 5;

BlockMask random_mask(std::int32_t tokens, std::int32_t block, std::uint64_t seed) {
  Rng rng(seed);
  return testing::mask_where(kLayerHeads, BlockMask::uniform_starts(tokens, block),
                             [&](int, int q, int k) { return q == k || rng.uniform() < 0.4; });
}

// Around an attention there is only work that is the same for every token.
TEST(LayerImbalance, IsThatOfTheAttention) {
  for (const int ranks : {2, 3, 4})
    for (const char* name : {"ulysses", "ring", "usp"}) {
      const Strategy& strategy = *find_strategy(name);
      ImbalanceRatios of[2];
      for (const bool layer : {false, true}) {
        Request request = Request::attention(ranks, kLayerHeads, 4, random_mask(15, 4, 1), Dtype::kBf16);
        request.outer_tokens = 4;
        request.grid = {4, 3, 5};
        request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, random_mask(4, 1, 2));
        request.known_masks[0] = request.executed_masks[0];
        request.ffn = 23;
        if (layer) request.block = LayerBlock::kSpatialTemporal, request.kernels = layer_kernels(request);
        define_outputs(request);
        const Plan plan = make_plan(strategy, request, Parameters(strategy.parameters()));
        of[layer] = imbalance_ratios(plan, attended_area(plan));
      }
      EXPECT_DOUBLE_EQ(of[0].plain, of[1].plain) << name << " on " << ranks;
      EXPECT_DOUBLE_EQ(of[0].barrier, of[1].barrier) << name << " on " << ranks;
      EXPECT_DOUBLE_EQ(of[0].barrier_all_ranks, of[1].barrier_all_ranks) << name << " on " << ranks;
    }
}

}  // namespace
}  // namespace spscope
