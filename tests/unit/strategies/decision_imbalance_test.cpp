// Imbalance of decisions against single bits, and against the plans made from them.
#include "backend/strategies/decision_imbalance.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/rng.h"
#include "backend/schedule/imbalance.h"
#include "backend/strategies/index_groups.h"

namespace spscope {
namespace {

// Heads and rows of very different density.
BlockMask uneven_mask(int heads, std::int32_t tokens, std::int32_t block, std::uint64_t seed) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  Rng rng(seed);
  for (int head = 0; head < heads; ++head) {
    const double density = rng.uniform();
    for (std::int32_t q = 0; q < mask.blocks(); ++q) {
      const double row = density * rng.uniform();
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (k == q || rng.uniform() < row) mask.set(head, q, k);
    }
  }
  return mask;
}

int group_of(const IndexGroups& groups, std::int32_t index) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (std::ranges::find(groups[g], index) != groups[g].end()) return static_cast<int>(g);
  return -1;
}

// The barrier ratio by its definition (backend/schedule/imbalance.h), bit by bit.
double brute_force_ratio(const BlockMask& mask, const Decision& d) {
  const auto starts = mask.coarse_starts();
  const auto size = [&](std::int32_t b) { return std::int64_t{starts[b + 1] - starts[b]}; };
  std::vector<std::vector<std::vector<std::int64_t>>> by_rank(  // [u][a][step]
      d.ulysses, std::vector<std::vector<std::int64_t>>(d.ring, std::vector<std::int64_t>(d.ring, 0)));
  double total = 0;
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      for (std::int32_t k = 0; k < mask.coarse_blocks(); ++k) {
        if (!mask.active(head, q, k)) continue;
        const int u = group_of(d.heads, head), a = group_of(d.query_blocks, q), b = group_of(d.key_blocks, k);
        by_rank[u][a][(a - b + d.ring) % d.ring] += size(q) * size(k);
        total += static_cast<double>(size(q) * size(k));
      }
  std::int64_t slowest = 0;
  for (const auto& ring : by_rank) {
    std::int64_t sum = 0;
    for (int step = 0; step < d.ring; ++step) {
      std::int64_t longest = 0;
      for (const auto& steps : ring) longest = std::max(longest, steps[step]);
      sum += longest;
    }
    slowest = std::max(slowest, sum);
  }
  return static_cast<double>(slowest) / (total / (d.ulysses * d.ring));
}

Parameters with_degrees(const Strategy& strategy, int ulysses, int ring) {
  Parameters parameters(strategy.parameters());
  if (parameters.has("ulysses")) parameters.set("ulysses", std::int64_t{ulysses});
  if (parameters.has("ring")) parameters.set("ring", std::int64_t{ring});
  return parameters;
}

TEST(DecisionImbalance, EqualsTheDefinitionAndThePlan) {
  for (const auto& [ulysses, ring] : {std::pair{6, 1}, {3, 2}, {2, 3}, {1, 6}})
    for (const char* name : {"dbsp", "cyclic", "snake"}) {
      const Strategy& strategy = *find_strategy(name);
      if (std::string_view(name) == "snake" && ring > 1) continue;
      Request request = Request::attention(6, 8, 4, uneven_mask(8, 300, 16, 17));
      define_outputs(request);
      const Parameters parameters = with_degrees(strategy, ulysses, ring);
      const Decision decision = strategy.decide(request, parameters);
      const double ratio = decision_imbalance(request, decision);
      Decision explicit_blocks = decision;
      if (explicit_blocks.query_blocks.empty())
        explicit_blocks.query_blocks = explicit_blocks.key_blocks = even_groups(19, 1);
      EXPECT_DOUBLE_EQ(ratio, brute_force_ratio(request.known_mask()->mask(), explicit_blocks)) << name << ulysses;
      const Plan plan = make_plan(strategy, request, parameters, decision);
      EXPECT_DOUBLE_EQ(ratio, imbalance_ratios(plan, attended_area(plan)).barrier) << name << ulysses;
      EXPECT_GT(ratio, 1) << name << ulysses;
    }
}

// A plan is made from what was known and runs on what is: both are known afterwards.
TEST(DecisionImbalance, IsOfTheKnownMaskAndTheExecutedOneApart) {
  Request request = Request::attention(4, 8, 4, uneven_mask(8, 256, 16, 1));
  request.known_masks[1] = std::make_shared<MaskCounter>(request.sets, uneven_mask(8, 256, 16, 2));
  define_outputs(request);
  const Strategy& dbsp = *find_strategy("dbsp");
  const Parameters parameters = with_degrees(dbsp, 2, 2);
  const Decision decision = dbsp.decide(request, parameters);
  EXPECT_DOUBLE_EQ(decision_imbalance(request, decision), brute_force_ratio(request.known_mask()->mask(), decision));
  const Plan plan = make_plan(dbsp, request, parameters, decision);
  EXPECT_DOUBLE_EQ(executed_imbalance(request, decision), imbalance_ratios(plan, attended_area(plan)).barrier);
  EXPECT_NE(executed_imbalance(request, decision), decision_imbalance(request, decision));
  request.known_masks[1] = nullptr;
  EXPECT_EQ(decision_imbalance(request, decision), 1);
}

// Blocks are cut into slices where there are fewer of them than ranks; decisions number slices then.
TEST(DecisionImbalance, CountsSlices) {
  Request request = Request::attention(4, 2, 4, uneven_mask(2, 40, 20, 3));
  define_outputs(request);
  const Strategy& dbsp = *find_strategy("dbsp");
  const Parameters parameters = with_degrees(dbsp, 1, 4);
  const Decision decision = dbsp.decide(request, parameters);
  const Plan plan = make_plan(dbsp, request, parameters, decision);
  EXPECT_DOUBLE_EQ(decision_imbalance(request, decision), imbalance_ratios(plan, attended_area(plan)).barrier);
}

}  // namespace
}  // namespace spscope
