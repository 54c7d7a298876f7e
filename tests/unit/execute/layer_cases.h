// Requests for small whole layers of every block.
#pragma once

#include <memory>
#include <vector>

#include "backend/execute/reference/layer_reference.h"
#include "backend/plan/layer_kernels.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope::testing {

struct LayerCase {
  LayerBlock block = LayerBlock::kWan;
  int ranks = 1;
  Dtype dtype = Dtype::kFp32;
  int batch = 1, mlps = 1;
  int heads = 4, head_dim = 14;
  std::int32_t ffn = 100;
};

// Random blocks of 16 video tokens, and one block of text behind them that all meet.
inline BlockMask layer_mask(int heads, std::int32_t video, std::int32_t text) {
  std::vector<std::int32_t> starts = BlockMask::uniform_starts(video, 16);
  if (text > 0) starts.push_back(video + text);
  BlockMask mask(heads, starts);
  const std::int32_t words = text == 0 ? -1 : mask.blocks() - 1;
  Rng rng(3);
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (rng.uniform() < 0.6 || q == words || k == words) mask.set(head, q, k);
  return mask;
}

// 3 x 5 x 7 video tokens in blocks of 16, the last one ragged, and a head dim that does not divide by 6.
inline Request layer_request(const LayerCase& c) {
  const bool frames = c.block == LayerBlock::kSpatialTemporal;
  const std::int32_t text = frames || c.block == LayerBlock::kWan ? 0 : 5;
  Request request =
      Request::attention(c.ranks, c.heads, c.head_dim, layer_mask(c.heads, frames ? 35 : 105, text), c.dtype);
  request.block = c.block;
  request.batch = c.batch;
  request.grid = {3, 5, 7};
  request.ffn = c.ffn;
  request.text_tokens = text;
  request.context_tokens = 7;
  request.mlps = c.mlps;
  if (frames) {
    request.outer_tokens = request.grid[0];
    request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, random_mask(c.heads, 3, 2, 0.8, 9));
    request.known_masks[0] = request.executed_masks[0];
  }
  request.kernels = layer_kernels(request);
  define_outputs(request);
  return request;
}

}  // namespace spscope::testing
