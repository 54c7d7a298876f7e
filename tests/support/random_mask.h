// Masks of random blocks.
#pragma once

#include "backend/base/rng.h"
#include "backend/mask/block_mask.h"

namespace spscope::testing {

// Blocks of `block` tokens, the last one ragged; each is active with probability `density`.
inline BlockMask random_mask(int heads, std::int32_t tokens, std::int32_t block, double density,
                             std::uint64_t seed = 3) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  Rng rng(seed);
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (rng.uniform() < density) mask.set(head, q, k);
  return mask;
}

}  // namespace spscope::testing
