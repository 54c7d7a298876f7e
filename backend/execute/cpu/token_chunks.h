// Local kernels stage what they read and write as fp32; they take the tokens of a box in chunks, so that staging stays
// small whatever the workload, and so that a rank shows that it is alive.
#pragma once

#include <vector>

#include "backend/plan/box.h"

namespace spscope {

// Enough rows that a matrix product runs at full speed, few enough that a chunk of the widest layer is some 50 MB.
inline constexpr std::int64_t kChunkTokens = 512;

// Boxes of the same columns that together are the box, in the order of its tokens, each of at most `limit` tokens.
std::vector<Box> token_chunks(SetTable& sets, const Box& box, std::int64_t limit = kChunkTokens);

}  // namespace spscope
