// Golden plans: the plan of every strategy for two small workloads, as its hash with the counts that explain a change.
// The hash covers the whole plan and does not depend on the machine, so an unintended change of any plan fails here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backend/base/rng.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/verify.h"
#include "backend/strategies/strategy.h"
#include "tests/support/golden_file.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

constexpr int kRanks = 4, kGoldenHeads = 8, kGoldenHeadDim = 16;

// Densities of heads, rows and columns differ, so that strategies which balance have something to move. By integers
// alone, so that the mask does not depend on the machine either.
BlockMask uneven_mask(std::int32_t tokens, std::int32_t block) {
  const std::vector<std::int32_t> starts = BlockMask::uniform_starts(tokens, block);
  const std::int64_t blocks = std::ssize(starts) - 1;
  Rng rng(11);
  return testing::mask_where(kGoldenHeads, starts, [&](int h, int q, int k) {
    return q == k || rng.below(kGoldenHeads * blocks * blocks) < (h + 1) * (q + 1) * (blocks - k);
  });
}

// 18 blocks, the last of 3 tokens.
Request attention_request() {
  Request request = Request::attention(kRanks, kGoldenHeads, kGoldenHeadDim, uneven_mask(17 * 8 + 3, 8));
  define_outputs(request);
  return request;
}

// A whole layer of 6 frames of 4 x 5 positions, with text by cross-attention.
Request layer_request() {
  Request request = Request::attention(kRanks, kGoldenHeads, kGoldenHeadDim, uneven_mask(20, 4));
  request.outer_tokens = 6;
  request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, uneven_mask(6, 1));
  request.known_masks[0] = request.executed_masks[0];
  request.block = LayerBlock::kSpatialTemporal;
  request.ffn = 40;
  request.context_tokens = 7;
  request.mlps = 2;
  request.grid = {6, 4, 5};
  request.kernels = layer_kernels(request);
  define_outputs(request);
  return request;
}

std::string summary_of(const Plan& plan) {
  const std::vector<std::int64_t> sent = bytes_sent(plan);
  return fmt::format("{:016x}, {} ops, {} dependencies, {} messages, {} bytes sent", plan_hash(plan), plan.ops.size(),
                     plan.dep_refs.size(), plan.messages.size(),
                     std::accumulate(sent.begin(), sent.end(), std::int64_t{0}));
}

// One line for each strategy, with degrees of 2 x 2 where it has them.
std::string plans_of(const Request& request) {
  std::string text;
  for (const Strategy& strategy : strategies()) {
    Parameters parameters(strategy.parameters());
    for (const char* degree : {"ulysses", "ring"})
      if (parameters.has(degree)) parameters.set(degree, std::int64_t{2});
    text += fmt::format("{}: ", strategy.name);
    if (!strategy.legal(request, parameters).empty()) {
      text += "not legal\n";
      continue;
    }
    const Plan plan = make_plan(strategy, request, parameters);
    EXPECT_TRUE(verify(plan, request).empty()) << strategy.name;
    text += summary_of(plan) + "\n";
  }
  return text;
}

TEST(GoldenPlan, OfAttention) { expect_golden("plans/attention.txt", plans_of(attention_request())); }
TEST(GoldenPlan, OfAWholeLayer) { expect_golden("plans/spatial_temporal_layer.txt", plans_of(layer_request())); }

}  // namespace
}  // namespace spscope
