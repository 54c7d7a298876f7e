// Workloads for emulated GPUs, which compute some thousand times slower than real ones: heads, tokens and text that do
// not divide, at most 42 tokens.
#pragma once

#include "tests/conformance/workloads.h"

namespace spscope {

inline constexpr TestedWorkload kSmallWorkloads[] = {
    {"heads_3", 3, 8, {2, 3, 7}, 8},  // 42 tokens are 2 mod 8; fewer heads than ranks
    {"odd_head_dim", 8, 5, {1, 3, 7}, 8},
    {"text_shard", 4, 8, {2, 2, 4}, 8, 5, TextLayout::kShard, 2},
    {"text_replicate", 4, 16, {1, 3, 5}, 8, 5, TextLayout::kReplicate},
    {"spatiotemporal", 3, 8, {5, 2, 3}, 4, 0, TextLayout::kShard, 1, true},
    {"one_block", 2, 8, {1, 1, 17}, 64},
};

}  // namespace spscope
