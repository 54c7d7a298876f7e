#include "backend/strategies/plan_reuse.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

constexpr std::int32_t kReusedBlocks = 16;

// Four heads of as many dense rows as given, on two ranks.
std::shared_ptr<MaskCounter> mask_of(const Request& request, const std::vector<int>& rows) {
  BlockMask mask(4, BlockMask::uniform_starts(kReusedBlocks, 1));
  for (int head = 0; head < 4; ++head)
    for (std::int32_t q = 0; q < rows[static_cast<std::size_t>(head)]; ++q)
      for (std::int32_t k = 0; k < kReusedBlocks; ++k) mask.set(head, q, k);
  return std::make_shared<MaskCounter>(request.sets, std::move(mask));
}

// Layers whose known masks are given; none: nothing is known.
std::vector<Request> layers_of(const std::vector<std::vector<int>>& rows, int layers = 2) {
  std::vector<Request> requests;
  for (int layer = 0; layer < layers; ++layer) {
    requests.push_back(Request::attention(2, 4, 4, BlockMask(4, BlockMask::uniform_starts(kReusedBlocks, 1))));
    Request& request = requests.back();
    request.known_masks[1] = rows.empty() ? nullptr : mask_of(request, rows[static_cast<std::size_t>(layer)]);
  }
  return requests;
}

PlanReuse reuse_of(double threshold) {
  const Strategy& dbsp = *find_strategy("dbsp");
  Parameters parameters(dbsp.parameters());
  parameters.set("ulysses", std::int64_t{2});
  parameters.set("threshold", threshold);
  return {dbsp, parameters};
}

const std::vector<std::vector<int>> kFirst = {{8, 8, 2, 2}, {6, 6, 6, 6}};    // first layer: {0, 2}, {1, 3}
const std::vector<std::vector<int>> kDrifted = {{9, 8, 3, 2}, {6, 6, 6, 6}};  // under these: 12 / 11 and 1
const std::vector<std::vector<int>> kJumped = {{8, 2, 8, 2}, {6, 6, 6, 6}};   // under these: 16 / 10 and 1

TEST(PlanReuse, KeepsWhileTheMeanOverLayersIsLow) {
  PlanReuse reuse = reuse_of(1.10);
  const auto first = layers_of(kFirst), drifted = layers_of(kDrifted), jumped = layers_of(kJumped);
  const std::span<const Decision> decisions = reuse.begin_step(first);
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].heads, (std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 3}}));
  EXPECT_TRUE(reuse.decided());
  EXPECT_EQ(reuse.num_replans(), 0);

  EXPECT_EQ(reuse.begin_step(drifted)[0].heads, (std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 3}}));
  EXPECT_FALSE(reuse.decided());

  EXPECT_EQ(reuse.begin_step(jumped)[0].heads, (std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 3}}));
  EXPECT_TRUE(reuse.decided());
  EXPECT_EQ(reuse.num_replans(), 1);
  EXPECT_EQ(reuse.num_plans(), 2);
}

TEST(PlanReuse, DecidesInOrderUntilMasksAreKnown) {
  PlanReuse reuse = reuse_of(1.10);
  const auto nothing = layers_of({}), first = layers_of(kFirst);
  EXPECT_EQ(reuse.begin_step(nothing)[0].heads, (std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 3}}));
  EXPECT_FALSE(reuse.decided());
  EXPECT_EQ(reuse.num_plans(), 0);
  reuse.begin_step(nothing);
  EXPECT_EQ(reuse.num_plans(), 0);
  EXPECT_EQ(reuse.begin_step(first)[0].heads, (std::vector<std::vector<std::int32_t>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(reuse.num_plans(), 1);
  EXPECT_EQ(reuse.num_replans(), 0);
}

TEST(PlanReuse, DecidesInEveryStepWithoutAThreshold) {
  PlanReuse reuse = reuse_of(0);
  const auto first = layers_of(kFirst);
  for (int step = 0; step < 3; ++step) {
    reuse.begin_step(first);
    EXPECT_TRUE(reuse.decided());
  }
  EXPECT_EQ(reuse.num_replans(), 2);
}

TEST(PlanReuse, DecidesOnceForLayersThatAreAlike) {
  static int decided = 0;
  Strategy counting = *find_strategy("ring");
  counting.decide = [](const Request& request, const Parameters& parameters) {
    ++decided;
    return find_strategy("ring")->decide(request, parameters);
  };
  const auto decisions_of = [&](const std::vector<std::vector<int>>& rows) {
    decided = 0;
    PlanReuse(counting, Parameters(counting.parameters())).begin_step(layers_of(rows));
    return decided;
  };
  EXPECT_EQ(decisions_of({}), 1);
  EXPECT_EQ(decisions_of(kFirst), 2);
  EXPECT_EQ(decisions_of({{16, 16, 16, 16}, {16, 16, 16, 16}}), 1);  // dense
  EXPECT_EQ(decisions_of({{16, 16, 16, 16}, {16, 16, 16, 15}}), 2);
}

}  // namespace
}  // namespace spscope
