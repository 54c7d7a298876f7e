// Masks whose blocks a function or chance decides.
#pragma once

#include <utility>
#include <vector>

#include "backend/base/rng.h"
#include "backend/mask/block_mask.h"

namespace spscope::testing {

// Bits from active(head, query block, key block), asked row by row.
template <typename Active>
BlockMask mask_where(int heads, std::vector<std::int32_t> starts, Active&& active) {
  BlockMask mask(heads, std::move(starts));
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      for (std::int32_t k = 0; k < mask.coarse_blocks(); ++k)
        if (active(head, q, k)) mask.set(head, q, k);
  return mask;
}

// Blocks of `block` tokens, the last one ragged; each is active with probability `density`.
inline BlockMask random_mask(int heads, std::int32_t tokens, std::int32_t block, double density,
                             std::uint64_t seed = 3) {
  Rng rng(seed);
  return mask_where(heads, BlockMask::uniform_starts(tokens, block),
                    [&](int, int, int) { return rng.uniform() < density; });
}

}  // namespace spscope::testing
