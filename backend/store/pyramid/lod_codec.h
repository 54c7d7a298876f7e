// Blocks of a strip as bytes: what lod_strip.data holds. Little-endian, a CRC-32C at the end.
//
//   u8 2; number: 1 when compressed with zstd; number of bytes, and the bytes: one a bucket
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

inline constexpr int kMaxStripBlock = 65536;  // buckets of a row of lod_strip

// REQUIRES: at least one bucket, and at most kMaxStripBlock.
std::vector<std::uint8_t> encode_strip_block(std::span<const std::uint8_t> strip);
// Throws Error (kStoreCorrupt) unless the bytes are a block of so many buckets.
std::vector<std::uint8_t> decode_strip_block(std::int64_t num_buckets, std::span<const std::uint8_t> data);

}  // namespace spscope
