// The partition and the greedy of db-SP worked by hand on small weights, and properties on random weights.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/rng.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/balance_heads.h"

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

using Weights = std::vector<std::int64_t>;

const Weights kEight = {21, 17, 13, 11, 7, 5, 3, 2};
const Weights kTwelve = {30, 5, 28, 4, 9, 8, 22, 3, 14, 13, 2, 1};

struct Golden {
  const Weights* weights;
  int groups;
  double reward;
  IndexGroups expected;
  Weights sums;
  double moved;
};

TEST(BalanceBlocks, GoldenVectors) {
  const Golden rows[] = {
      {&kEight, 2, 0, {{0, 3, 5, 6}, {1, 2, 4, 7}}, {40, 39}, 0.5},
      {&kEight, 2, 1, {{0, 2, 6, 7}, {1, 3, 4, 5}}, {39, 40}, 0.5},
      {&kEight, 2, 2, {{0, 1, 6, 7}, {2, 3, 4, 5}}, {43, 36}, 0.5},
      {&kEight, 2, 10, {{0, 1, 2, 3}, {4, 5, 6, 7}}, {62, 17}, 0},
      {&kTwelve, 3, 0, {{0, 1, 4, 7}, {2, 3, 9, 11}, {5, 6, 8, 10}}, {47, 46, 46}, 8.0 / 12},
      {&kTwelve, 3, 2, {{0, 2, 10, 11}, {4, 5, 6, 7}, {1, 3, 8, 9}}, {61, 42, 36}, 4.0 / 12},
  };
  for (const Golden& row : rows) {
    const IndexGroups groups = balance_blocks(*row.weights, row.groups, row.reward);
    EXPECT_EQ(groups, row.expected) << "reward " << row.reward;
    EXPECT_EQ(group_sums(groups, *row.weights), row.sums) << "reward " << row.reward;
    const IndexGroups home = even_groups(static_cast<int>(row.weights->size()), row.groups);
    EXPECT_DOUBLE_EQ(moved_fraction(transfer_matrix(home, groups)), row.moved) << "reward " << row.reward;
  }
}

TEST(TransferMatrix, GoldenVectors) {
  const IndexGroups home = even_groups(12, 3);
  EXPECT_EQ(transfer_matrix(home, balance_blocks(kTwelve, 3, 0)), (TransferMatrix{{2, 2, 0}, {2, 0, 2}, {0, 2, 2}}));
  EXPECT_EQ(transfer_matrix(home, balance_blocks(kTwelve, 3, 2)), (TransferMatrix{{2, 0, 2}, {0, 4, 0}, {2, 0, 2}}));
}

TEST(BalanceBlocks, KeepsEveryBlockOnceAndEveryRankAtItsHomeCount) {
  Rng rng(11);
  for (const auto& [blocks, groups] : {std::pair{1182, 8}, {1182, 5}, {17, 3}, {4, 4}, {9, 1}})
    for (const double reward : {0.0, 0.5, 2.0, 10.0}) {
      Weights weights;
      for (int i = 0; i < blocks; ++i) weights.push_back(static_cast<std::int64_t>(rng.uniform() * 1e9));
      const IndexGroups home = even_groups(blocks, groups), divided = balance_blocks(weights, groups, reward);
      std::vector<std::int32_t> all;
      for (std::size_t g = 0; g < home.size(); ++g) {
        EXPECT_EQ(divided[g].size(), home[g].size());
        EXPECT_TRUE(std::ranges::is_sorted(divided[g]));
        all.insert(all.end(), divided[g].begin(), divided[g].end());
      }
      std::ranges::sort(all);
      for (std::int32_t i = 0; i < blocks; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
      const TransferMatrix transfers = transfer_matrix(home, divided);
      for (std::size_t g = 0; g < home.size(); ++g) {
        std::int64_t sent = 0, received = 0;
        for (std::size_t other = 0; other < home.size(); ++other)
          sent += transfers[g][other], received += transfers[other][g];
        EXPECT_EQ(sent, static_cast<std::int64_t>(home[g].size()));
        EXPECT_EQ(received, sent);
      }
    }
}

TEST(BalanceBlocks, AHigherRewardMovesLess) {
  Rng rng(13);
  Weights weights;
  for (int i = 0; i < 400; ++i) weights.push_back(1 + static_cast<std::int64_t>(rng.uniform() * 1e6));
  const IndexGroups home = even_groups(400, 8);
  const auto moved = [&](double reward) {
    return moved_fraction(transfer_matrix(home, balance_blocks(weights, 8, reward)));
  };
  EXPECT_GT(moved(0), moved(2));
  EXPECT_GT(moved(2), moved(1e6));
}

}  // namespace
}  // namespace spscope
