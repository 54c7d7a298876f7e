// Blobs whose last four bytes are the CRC-32C of what is before them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "backend/base/bytes.h"

namespace spscope::fuzz {

inline void mend_checksum(std::span<std::uint8_t> blob) {
  if (blob.size() < 4) return;
  const std::uint32_t sum = crc32c(blob.first(blob.size() - 4));
  std::memcpy(blob.data() + blob.size() - 4, &sum, sizeof(sum));
}

}  // namespace spscope::fuzz

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes);
