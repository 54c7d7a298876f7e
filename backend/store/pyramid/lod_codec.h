// Blocks of a pyramid as bytes: what lod_level.data and lod_strip.data hold. Little-endian, a CRC-32C at the end.
//
//   level  u8 1; number: bit c is set when category c is busy anywhere; then columns of one value a bucket: count; busy
//          nanoseconds of each such category; and, of buckets that an event touches, of the longest: begin minus the
//          begin of the bucket (zigzag), end - begin + 1 (0: it never ended), op_id minus that before (zigzag), name,
//          flags. An event touches a bucket that has a count or is busy.
//   column number: bytes a value; number: 1 when compressed with zstd; number of bytes, and the bytes: first the lowest
//          byte of all values, then the next
//   strip  one column of one byte a bucket, after u8 1
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope {

inline constexpr int kMaxLevelBlock = 4096;   // buckets of a row of lod_level
inline constexpr int kMaxStripBlock = 65536;  // buckets of a row of lod_strip

// REQUIRES: at most kMaxLevelBlock buckets, of which `first_bucket` is the first.
std::vector<std::uint8_t> encode_level_block(int shift, std::int64_t first_bucket, std::span<const LodBucket> buckets);
std::vector<std::uint8_t> encode_strip_block(std::span<const std::uint8_t> strip);

// Throw Error (kStoreCorrupt) unless the bytes are a block of so many buckets.
std::vector<LodBucket> decode_level_block(int shift, std::int64_t first_bucket, std::int64_t num_buckets,
                                          std::span<const std::uint8_t> data);
std::vector<std::uint8_t> decode_strip_block(std::int64_t num_buckets, std::span<const std::uint8_t> data);

}  // namespace spscope
