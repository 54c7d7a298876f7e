#include "backend/mask/sparge_from_qk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

// Blocks of one head of q or k: means [blocks, head_dim] and whether the tokens of each are alike.
struct PooledBlocks {
  std::vector<float> mean;
  std::vector<bool> similar;
};

// The mean cosine of all pairs, each token with itself included, is |sum of unit vectors|^2 / n^2.
PooledBlocks pool(std::span<const float> tokens, int head_dim, std::span<const std::int32_t> starts,
                  double similarity) {
  PooledBlocks pooled;
  std::vector<double> sum(head_dim), unit_sum(head_dim);
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(unit_sum.begin(), unit_sum.end(), 0.0);
    for (std::int32_t t = starts[b]; t < starts[b + 1]; ++t) {
      const std::span<const float> token = tokens.subspan(static_cast<std::size_t>(t) * head_dim, head_dim);
      double squares = 0;
      for (float x : token) squares += static_cast<double>(x) * x;
      const double inverse = squares > 0 ? 1 / std::sqrt(squares) : 0;
      for (int d = 0; d < head_dim; ++d) {
        sum[d] += token[d];
        unit_sum[d] += token[d] * inverse;
      }
    }
    const double n = starts[b + 1] - starts[b];
    double squares = 0;
    for (int d = 0; d < head_dim; ++d) {
      pooled.mean.push_back(static_cast<float>(sum[d] / n));
      squares += unit_sum[d] * unit_sum[d];
    }
    pooled.similar.push_back(squares / (n * n) > similarity);
  }
  return pooled;
}

void check_input(std::span<const float> values, std::size_t expected, const char* name) {
  if (values.size() != expected) {
    throw Error(
        ErrorCode::kMaskShape,
        fmt::format("{} has {} numbers, the mask needs {} (heads x tokens x head_dim)", name, values.size(), expected),
        "give arrays of shape [heads, tokens, head_dim]");
  }
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  if (bad != values.end()) {
    throw Error(ErrorCode::kMaskValue, fmt::format("{} holds {} at number {}", name, *bad, bad - values.begin()),
                "dump activations of a run without overflow");
  }
}

// Every rows_together-th cut, and the end.
std::vector<std::int32_t> wider_blocks(std::span<const std::int32_t> starts, int rows_together) {
  std::vector<std::int32_t> wide;
  for (std::size_t b = 0; b + 1 < starts.size(); b += rows_together) wide.push_back(starts[b]);
  wide.push_back(starts.back());
  return wide;
}

void fill_head(const PooledBlocks& q, const PooledBlocks& k, int head, int head_dim, const SpargeSettings& settings,
               BlockMask& mask) {
  const std::size_t blocks = k.similar.size();
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim));
  std::vector<float> logits(blocks);
  std::vector<std::uint64_t> row(mask.words_per_row());
  TopCdf top;
  for (std::size_t group = 0; group < q.similar.size(); ++group) {
    std::fill(row.begin(), row.end(), 0);
    const float* query = q.mean.data() + group * head_dim;
    for (std::size_t j = 0; j < blocks; ++j) {
      const float* key = k.mean.data() + j * head_dim;
      double dot = 0;
      for (int d = 0; d < head_dim; ++d) dot += static_cast<double>(query[d]) * key[d];
      logits[j] = k.similar[j] ? static_cast<float>(dot * scale) : -std::numeric_limits<float>::infinity();
      if (!k.similar[j] || !q.similar[group]) row[j / 64] |= std::uint64_t{1} << (j % 64);
    }
    top.select(logits, settings.cdf, row);
    const std::size_t begin = group * settings.rows_together;
    for (std::size_t i = begin; i < std::min(blocks, begin + settings.rows_together); ++i) {
      std::copy(row.begin(), row.end(), mask.mutable_row(head, static_cast<std::int32_t>(i)).begin());
    }
  }
}

}  // namespace

BlockMask sparge_from_qk(std::span<const float> q, std::span<const float> k, int heads, int head_dim,
                         std::vector<std::int32_t> block_starts, const SpargeSettings& settings) {
  SPSCOPE_CHECK(heads >= 1 && head_dim >= 1 && settings.rows_together >= 1);
  BlockMask mask(heads, std::move(block_starts));
  const std::size_t head_size = static_cast<std::size_t>(mask.tokens()) * head_dim;
  check_input(q, head_size * heads, "q");
  check_input(k, head_size * heads, "k");
  const std::vector<std::int32_t> q_starts = wider_blocks(mask.block_starts(), settings.rows_together);
  for (int head = 0; head < heads; ++head) {
    const PooledBlocks queries = pool(q.subspan(head * head_size, head_size), head_dim, q_starts, settings.similarity);
    const PooledBlocks keys =
        pool(k.subspan(head * head_size, head_size), head_dim, mask.block_starts(), settings.similarity);
    fill_head(queries, keys, head, head_dim, settings, mask);
  }
  return mask;
}

}  // namespace spscope
