// Shared by the generators of mask patterns: checks of a request, geometry of blocks, text tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/rng.h"
#include "backend/mask/pattern.h"

namespace spscope {

// A mask is refused when its bits and the scratch memory of its generator exceed this: 4 GiB is 40 heads of 29,000
// blocks.
inline constexpr std::int64_t kMaxMaskBytes = std::int64_t{1} << 32;

// Scratch memory of a generator beside the bits, by head and by block of each head. Memory for one head or one row at a
// time is not counted: it is far below the bits.
struct PatternScratch {
  std::int64_t bytes_per_head = 0, bytes_per_block = 0;
  std::int64_t video_blocks = 0;  // of a pattern with cuts of its own; 0: blocks of request.block tokens
};

// Problems that every pattern has with a request: shape, block, density, memory.
std::vector<Problem> check_request(const PatternRequest& request, const PatternScratch& scratch = {});

// Rows `dense_steps` and `dense_layers`: the first steps and layers may stay dense (docs/masks.md).
std::vector<Parameter> warmup_parameters();
bool is_warmup(const PatternRequest& request);

// Activates the blocks [begin, end) of a row. REQUIRES: begin <= end.
void set_blocks(std::span<std::uint64_t> row, std::int32_t begin, std::int32_t end);
BlockMask all_active(int heads, std::vector<std::int32_t> starts);
BlockMask all_active(const PatternRequest& request);
// Adds the text blocks to the borders of video blocks.
void append_text(std::vector<std::int32_t>& starts, const PatternRequest& request);
int num_video_blocks(const PatternRequest& request);
// The active share of (video query, video key) pairs that brings the whole mask, text included, to the wanted density;
// clamped to [0, 1].
double video_density(const PatternRequest& request);
// Activates all rows and columns of text blocks: those that start behind the video tokens.
void fill_text(BlockMask& mask, const PatternRequest& request);

// Where the centre of each video block lies along the three axes of `order` (0 frame, 1 y, 2 x; slowest first), each
// scaled to [0, 1). Blocks are cut from the tokens in that order.
struct BlockPositions {
  std::array<std::vector<float>, 3> along;
};
BlockPositions block_positions(const PatternRequest& request, std::array<int, 3> order);

// A preference for some rows or keys that all heads of a layer share: smooth and random along the sequence, the sum of
// three cosines with normal amplitudes, strength / 1, 1 / 2 and 1 / 3.
std::vector<float> layer_profile(const PatternRequest& request, int purpose, double strength, std::size_t blocks);

// An independent generator for each (layer, head, purpose) of a seed.
Rng rng_of(const PatternRequest& request, int head, int purpose);

}  // namespace spscope
