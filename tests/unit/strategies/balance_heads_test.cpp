// The partition of db-SP worked by hand on small weights, and properties on random weights.
#include "backend/strategies/balance_heads.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/rng.h"

namespace spscope {
namespace {

using Weights = std::vector<std::int64_t>;

// Every index once, ascending inside a group, and as many to a group as an even cut gives.
void expect_division(const IndexGroups& groups, int num_indices, int num_groups) {
  const IndexGroups home = even_groups(num_indices, num_groups);
  ASSERT_EQ(groups.size(), home.size());
  std::vector<std::int32_t> all;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    EXPECT_EQ(groups[g].size(), home[g].size());
    EXPECT_TRUE(std::ranges::is_sorted(groups[g]));
    all.insert(all.end(), groups[g].begin(), groups[g].end());
  }
  std::ranges::sort(all);
  for (std::int32_t i = 0; i < num_indices; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

Weights random_weights(Rng& rng, int num) {
  Weights weights;
  for (int i = 0; i < num; ++i) weights.push_back(static_cast<std::int64_t>(rng.uniform() * 1e9));
  return weights;
}

std::int64_t largest(const std::vector<std::int64_t>& sums) { return *std::ranges::max_element(sums); }

TEST(BalanceHeads, GoldenVectors) {
  EXPECT_EQ(balance_heads(Weights{8, 0, 4, 4}, 2), (IndexGroups{{0, 1}, {2, 3}}));
  const Weights weights = {97, 12, 55, 54, 31, 30, 8, 7};
  const IndexGroups groups = balance_heads(weights, 4);
  EXPECT_EQ(groups, (IndexGroups{{0, 7}, {2, 6}, {1, 3}, {4, 5}}));
  EXPECT_EQ(group_sums(groups, weights), (Weights{104, 63, 66, 61}));
}

TEST(BalanceHeads, DividesAnyNumberOfHeads) {
  Rng rng(3);
  for (const auto& [heads, groups] : {std::pair{40, 8}, {12, 8}, {7, 3}, {5, 5}, {30, 4}, {3, 1}}) {
    const Weights weights = random_weights(rng, heads);
    expect_division(balance_heads(weights, groups), heads, groups);
    expect_division(refine_by_swaps(balance_heads(weights, groups), weights), heads, groups);
  }
}

TEST(RefineBySwaps, IsNeverWorse) {
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    const int groups = 2 + round % 7, heads = groups + round % 31;
    const Weights weights = random_weights(rng, heads);
    const IndexGroups greedy = balance_heads(weights, groups);
    EXPECT_LE(largest(group_sums(refine_by_swaps(greedy, weights), weights)), largest(group_sums(greedy, weights)));
  }
}

// Two heads a rank, from the worst start: {9, 8}, {2, 1} has a perfect division that one exchange reaches.
TEST(RefineBySwaps, FindsTheExchange) {
  const Weights weights = {9, 8, 2, 1};
  EXPECT_EQ(group_sums(refine_by_swaps({{0, 1}, {2, 3}}, weights), weights), (Weights{10, 10}));
}

TEST(RefineBySwaps, LeavesNoPairThatHelps) {
  Rng rng(7);
  const Weights weights = random_weights(rng, 40);
  const IndexGroups groups = refine_by_swaps(even_groups(40, 8), weights);
  const Weights sums = group_sums(groups, weights);
  for (std::size_t heavy = 0; heavy < groups.size(); ++heavy)
    for (std::size_t light = 0; light < groups.size(); ++light)
      for (std::int32_t a : groups[heavy])
        for (std::int32_t b : groups[light]) {
          const std::int64_t moved = weights[static_cast<std::size_t>(a)] - weights[static_cast<std::size_t>(b)];
          EXPECT_FALSE(moved > 0 && std::max(sums[heavy] - moved, sums[light] + moved) < sums[heavy]);
        }
}

TEST(DealSnake, TurnsRoundAtEachEnd) {
  Weights weights;
  for (int head = 0; head < 40; ++head) weights.push_back(40 - head);
  const IndexGroups groups = deal_snake(weights, 8);
  EXPECT_EQ(groups[0], (std::vector<std::int32_t>{0, 15, 16, 31, 32}));
  EXPECT_EQ(groups[1], (std::vector<std::int32_t>{1, 14, 17, 30, 33}));
  EXPECT_EQ(groups[7], (std::vector<std::int32_t>{7, 8, 23, 24, 39}));
}

TEST(DealSnake, DealsEveryHeadWhenNothingDivides) {
  const IndexGroups groups = deal_snake(Weights{5, 4, 3, 2, 1}, 3);
  EXPECT_EQ(groups, (IndexGroups{{0}, {1, 4}, {2, 3}}));
}

TEST(ImbalanceRatioOf, IsLargestOverMean) {
  EXPECT_DOUBLE_EQ(imbalance_ratio_of(Weights{104, 63, 66, 61}), 104 * 4.0 / 294);
  EXPECT_DOUBLE_EQ(imbalance_ratio_of(Weights{0, 0}), 1);
}

}  // namespace
}  // namespace spscope
