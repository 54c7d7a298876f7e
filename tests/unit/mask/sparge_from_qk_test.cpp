// SpargeAttention's selection against a plain restatement: Gram matrices and full sorts instead of sums and
// quickselect.
#include "backend/mask/sparge_from_qk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/base/error.h"
#include "backend/base/rng.h"

namespace spscope {
namespace {

using Tokens = std::vector<std::vector<double>>;  // of one head

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double mean_cosine(const Tokens& tokens, int begin, int end) {
  double sum = 0;
  for (int i = begin; i < end; ++i)
    for (int j = begin; j < end; ++j)
      sum += dot(tokens[i], tokens[j]) / std::sqrt(dot(tokens[i], tokens[i]) * dot(tokens[j], tokens[j]));
  return sum / (end - begin) / (end - begin);
}

std::vector<double> mean_token(const Tokens& tokens, int begin, int end) {
  std::vector<double> mean(tokens[0].size(), 0);
  for (int i = begin; i < end; ++i)
    for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += tokens[i][d] / (end - begin);
  return mean;
}

// The key blocks of the query tokens [begin, end).
std::vector<bool> expected_row(const Tokens& q, const Tokens& k, const std::vector<int>& starts, int begin, int end,
                               const SpargeSettings& settings) {
  const int blocks = static_cast<int>(starts.size()) - 1;
  std::vector<bool> row(blocks, !(mean_cosine(q, begin, end) > settings.similarity));
  std::vector<std::pair<double, int>> weights;
  double total = 0;
  for (int j = 0; j < blocks; ++j) {
    if (!(mean_cosine(k, starts[j], starts[j + 1]) > settings.similarity)) {
      row[j] = true;
      continue;
    }
    const double score = dot(mean_token(q, begin, end), mean_token(k, starts[j], starts[j + 1]));
    weights.push_back({std::exp(score / std::sqrt(static_cast<double>(q[0].size()))), j});
    total += weights.back().first;
  }
  std::sort(weights.rbegin(), weights.rend());
  double chosen = 0;
  for (const auto& [weight, j] : weights) {
    row[j] = true;
    chosen += weight;
    if (chosen >= settings.cdf * total) break;
  }
  return row;
}

Tokens head_of(const std::vector<float>& values, int head, int tokens, int dim) {
  Tokens result(tokens, std::vector<double>(dim));
  for (int t = 0; t < tokens; ++t)
    for (int d = 0; d < dim; ++d) result[t][d] = values[(static_cast<std::size_t>(head) * tokens + t) * dim + d];
  return result;
}

// Tokens that keep a direction for a while, so that some blocks are similar and some are not.
std::vector<float> walk(Rng& rng, int heads, int tokens, int dim) {
  std::vector<float> values, at(dim, 0.0F);
  for (int t = 0; t < heads * tokens; ++t) {
    for (float& x : at) {
      x = static_cast<float>(0.9 * x + 0.6 * rng.normal());
      values.push_back(x);
    }
  }
  return values;
}

TEST(SpargeFromQk, EqualsThePlainRestatement) {
  Rng rng(3);
  constexpr int kHeads = 3, kTokens = 77, kDim = 6;
  const std::vector<int> starts = {0, 8, 16, 21, 32, 40, 48, 56, 61, 72, 77};
  const std::vector<float> q = walk(rng, kHeads, kTokens, kDim), k = walk(rng, kHeads, kTokens, kDim);
  int dense_rows = 0, sparse_rows = 0;
  for (int rows_together : {1, 2, 3}) {
    const SpargeSettings settings{.cdf = 0.7, .similarity = 0.5, .rows_together = rows_together};
    const BlockMask mask = sparge_from_qk(q, k, kHeads, kDim, starts, settings);
    for (int head = 0; head < kHeads; ++head) {
      const Tokens queries = head_of(q, head, kTokens, kDim), keys = head_of(k, head, kTokens, kDim);
      for (int i = 0; i < 10; ++i) {
        const int first = i / rows_together * rows_together, last = std::min(10, first + rows_together);
        const std::vector<bool> row = expected_row(queries, keys, starts, starts[first], starts[last], settings);
        const auto active = std::count(row.begin(), row.end(), true);
        (active == 10 ? dense_rows : sparse_rows) += 1;
        for (int j = 0; j < 10; ++j) EXPECT_EQ(mask.active(head, i, j), row[j]) << head << ' ' << i << ' ' << j;
      }
    }
  }
  EXPECT_GT(dense_rows, 5);
  EXPECT_GT(sparse_rows, 20);
}

TEST(SpargeFromQk, AllZerosKeepEverything) {
  const std::vector<float> zeros(2 * 12 * 4, 0.0F);
  EXPECT_EQ(sparge_from_qk(zeros, zeros, 2, 4, {0, 6, 12}).density(), 1.0);
}

TEST(SpargeFromQk, WrongSizesAndNanAreNamed) {
  std::vector<float> q(24, 1.0F), k(23, 1.0F);
  EXPECT_THROW(sparge_from_qk(q, k, 1, 2, {0, 6, 12}), Error);
  k.push_back(std::numeric_limits<float>::quiet_NaN());
  try {
    sparge_from_qk(q, k, 1, 2, {0, 6, 12});
    FAIL() << "NaN was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kMaskValue);
    EXPECT_STREQ(error.what(), "k holds nan at number 23");
  }
}

}  // namespace
}  // namespace spscope
