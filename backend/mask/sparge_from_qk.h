// The block mask that SpargeAttention would select for real queries and keys (arXiv 2502.18137).
//
// Per head: blocks are mean-pooled over their tokens. A block is similar when the mean cosine of its token pairs is
// above `similarity`. A row of key blocks is the smallest set of similar ones whose softmax over pooled scores reaches
// `cdf`, at least one. Rows of non-similar query blocks and columns of non-similar key blocks are fully active, because
// their mean does not represent their tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/mask/block_mask.h"

namespace spscope {

struct SpargeSettings {
  double cdf = 0.9;         // as db-SP f13ced5; thu-ml/SpargeAttn bfd980b (2025-12): 0.98
  double similarity = 0.1;  // likewise 0.1; 0.6
  int rows_together = 1;    // neighbouring blocks that make one query block; 2 gives the kernel's 128 x 64
};

// `q` and `k` are [heads, tokens, head_dim], dense. Scores are q k / sqrt(head_dim).
// Throws Error kMaskShape when the spans do not have that size, kMaskValue when they hold NaN or infinity.
// REQUIRES: heads, head_dim, rows_together >= 1; block_starts valid for BlockMask.
BlockMask sparge_from_qk(std::span<const float> q, std::span<const float> k, int heads, int head_dim,
                         std::vector<std::int32_t> block_starts, const SpargeSettings& settings = {});

}  // namespace spscope
