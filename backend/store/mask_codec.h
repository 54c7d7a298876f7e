// Masks as bytes, and their thumbnails. Layout 1 (`mask.codec` = 1), numbers as in bytes.h: magic "SMSK", version,
// heads, number of blocks, tokens of each block, then the bits row by row ([heads, query blocks], each row padded to
// whole 64-bit words), CRC-32C. `mask.codec` = 2 is layout 1 compressed with zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/mask/block_mask.h"
#include "backend/store/records.h"

namespace spscope {

inline constexpr int kMaskCodecNone = 0, kMaskCodec = 1, kMaskCodecZstd = 2;
// Of a mask before it is compressed.
inline constexpr std::size_t kMaxMaskBytes = 256 << 20;

// REQUIRES: not refined.
std::vector<std::uint8_t> encode_mask(const BlockMask& mask);
// Throws Error (kStoreCorrupt) when the bytes are not a mask.
BlockMask decode_mask(std::span<const std::uint8_t> bytes);

// By head. A cell's density is exact: the share of active (query, key) pairs among those of its tokens, where a block
// that lies over several cells is divided between them by area.
std::vector<DensityThumbnail> make_thumbnails(const BlockMask& mask);

}  // namespace spscope
