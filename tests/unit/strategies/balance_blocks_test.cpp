// The greedy of db-SP worked by hand on small weights, and properties on random weights.
#include "backend/strategies/balance_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/base/rng.h"

namespace spscope {
namespace {

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
