// Scratch memory of the CPU attention kernel and the fixed sizes of its parts; attend.inc describes their use.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "kernels/cpu/aligned_floats.h"

namespace spscope::kernels {

// Rows of a q block that are worked on at a time: scores and outputs of a strip stay in the second-level cache.
inline constexpr int kStripRows = 64;
// Columns of scores made before one softmax pass, as long as they are several k blocks; 256 amortise the pass over the
// outputs to under a hundredth of the time. A k block of more rows is a chunk of its own.
inline constexpr int kChunkColumns = 256;
// A chunk never has more columns than a k block padded to the longest vector (64 floats is more than any has).
inline constexpr int kMaxChunkColumns = kMaxBlockRows + 64;
// Row strides are constants, so that the rows of a register tile are addressed by displacements from one pointer. They
// are odd multiples of a cache line, so that these rows fall into different sets of the first-level cache.
inline constexpr int kScoreStride = kMaxChunkColumns + 16;
inline constexpr int kRowStride = kMaxHeadDim + 16;
// Packed K and V of the k blocks that are visited together, unless one block is more: stays in the cache.
inline constexpr std::int64_t kSpanBytes = std::int64_t{4} << 20;

// One active k block of a chunk; its scores begin at `column` of the strip's score rows.
struct ChunkPart {
  const float* keys;
  const float* values;
  int num_keys;
  int column;
};

struct AttentionScratch {
  AlignedFloats keys, values;            // packed k blocks of the current span
  AlignedFloats queries, out, scores;    // of the current strip
  AlignedFloats row;                     // one row of an input in fp32
  std::vector<ChunkPart> parts;          // of the current chunk
  std::vector<std::uint8_t> used;        // by k block: whether any tile has it
  std::vector<std::int64_t> key_offset;  // by k block of the span: its place in `keys`
  std::vector<std::int64_t> value_offset;
  std::vector<std::int32_t> next_tile;  // by q block: index into k_block of its first tile not yet folded in
};

}  // namespace spscope::kernels
