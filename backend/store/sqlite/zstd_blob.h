// Bytes compressed with zstd, one frame that holds its uncompressed size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spscope {

std::vector<std::uint8_t> compress(std::span<const std::uint8_t> bytes);

// The size that decompress() would give. Throws Error (kStoreCorrupt) when it is over max_bytes or the bytes are no
// such frame. `what` names the blob in messages.
std::size_t decompressed_bytes(std::span<const std::uint8_t> bytes, std::size_t max_bytes, std::string_view what);
// Appends to `out`. Nothing is allocated before the size was compared with max_bytes.
void decompress(std::span<const std::uint8_t> bytes, std::size_t max_bytes, std::string_view what,
                std::vector<std::uint8_t>& out);

}  // namespace spscope
