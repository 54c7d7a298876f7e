// Selection of the highest scores against sorted lists.
#include "backend/mask/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "backend/base/rng.h"

namespace spscope {
namespace {

// The k-th highest of rows of scores is the one of a sorted list, with those that equal it.
void expect_kth_highest(const std::vector<float>& scores, std::size_t columns, std::span<const std::size_t> ks) {
  std::vector<float> sorted = scores;
  std::ranges::sort(sorted, std::greater<>());
  const ScoreRow row = [&](std::size_t i, std::span<float> out) {
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(i * columns), columns, out.begin());
  };
  for (const std::size_t k : ks) {
    const Cut cut = kth_highest(scores.size() / columns, columns, static_cast<std::int64_t>(k), row);
    const auto above = std::ranges::count_if(scores, [&](float score) { return score > cut.threshold; });
    EXPECT_EQ(cut.threshold, sorted[k - 1]) << k;
    EXPECT_EQ(cut.ties, std::ranges::count(scores, cut.threshold)) << k;
    EXPECT_EQ(cut.ties_kept, static_cast<std::int64_t>(k) - above) << k;
  }
}

TEST(Selection, KthHighestIsTheOneOfASortedList) {
  Rng rng(5);
  std::vector<float> scores(7 * 30);
  for (float& score : scores) score = static_cast<float>(rng.normal() * (rng.below(2) == 0 ? 1e-3 : 1e3));
  scores[3] = scores[100] = std::numeric_limits<float>::infinity();
  scores[4] = -scores[3];
  scores[5] = scores[6] = scores[7] = 0.0F;
  std::vector<std::size_t> every(scores.size());
  std::iota(every.begin(), every.end(), 1);
  expect_kth_highest(scores, 30, every);
}

// Large enough to be bracketed from sampled rows: with rows that are alike, rows of which those sampled are not
// typical, and a few values that most scores share.
TEST(Selection, KthHighestOfManyScores) {
  constexpr std::size_t kColumns = 260, kScores = 300 * kColumns;
  for (const int kind : {0, 1, 2}) {
    SCOPED_TRACE(kind);
    Rng rng(static_cast<std::uint64_t>(kind) + 1);
    std::vector<float> scores(kScores);
    for (std::size_t i = 0; i < scores.size(); ++i)
      scores[i] = kind == 0   ? static_cast<float>(rng.normal())
                  : kind == 1 ? static_cast<float>(rng.normal() + (i / kColumns % 31 == 15 ? 100 : 0))
                              : static_cast<float>(rng.below(3));
    scores[70'000] = std::numeric_limits<float>::infinity();
    expect_kth_highest(
        scores, kColumns,
        std::array{std::size_t{1}, std::size_t{2}, kScores / 50, kScores / 3, kScores / 2, kScores - 7, kScores});
  }
}

TEST(Selection, TopCdfEqualsASortedSum) {
  Rng rng(9);
  for (const double cdf : {0.02, 0.3, 0.7, 0.9, 0.999}) {
    std::vector<float> logits(200);
    for (float& logit : logits) logit = static_cast<float>(3 * rng.normal());
    logits[7] = -std::numeric_limits<float>::infinity();
    logits[8] = logits[9] = logits[10];
    std::vector<double> sorted;
    for (float logit : logits) sorted.push_back(std::exp(logit));
    std::ranges::sort(sorted, std::greater<>());
    double total = 0, sum = 0;
    for (double weight : sorted) total += weight;
    int expected = 0;
    for (; sum < cdf * total; ++expected) sum += sorted[expected];
    std::vector<std::uint64_t> row(4, 0);
    const int chosen = TopCdf().select(logits, cdf, row);
    EXPECT_EQ(chosen, expected) << cdf;
    int bits = 0;
    for (std::uint64_t word : row) bits += std::popcount(word);
    EXPECT_EQ(bits, chosen);
    EXPECT_EQ(row[0] >> 7 & 1, 0u);
  }
}

TEST(Selection, RowCutTakesExactlyTheHighest) {
  Rng rng(3);
  RowCut cut;
  for (const std::int64_t values : {1, 3, 40, 1'000'000}) {  // few values: many ties
    std::vector<float> scores(150);
    for (float& score : scores) score = static_cast<float>(rng.below(values)) * 0.37F - 5;
    std::vector<float> sorted = scores;
    std::ranges::sort(sorted, std::greater<>());
    for (std::size_t k = 1; k <= scores.size(); ++k) {
      std::vector<std::uint64_t> row(3, 0);
      set_by_cut(scores, cut.find(scores, k), row);
      std::vector<float> taken;
      for (std::size_t j = 0; j < scores.size(); ++j)
        if ((row[j / 64] >> (j % 64) & 1) != 0) taken.push_back(scores[j]);
      std::ranges::sort(taken, std::greater<>());
      ASSERT_EQ(taken, std::vector<float>(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k)));
    }
  }
}

}  // namespace
}  // namespace spscope
