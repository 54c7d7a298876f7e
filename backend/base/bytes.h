// Bytes of stored blobs: little-endian fixed numbers, variable-length integers (7 bits a byte, low bits first; signed
// ones zigzag), and a CRC-32C at the end. The reader validates everything: it throws Error (kStoreCorrupt) instead of
// reading past the end, and checks a count against the remaining bytes before it allocates.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spscope {

static_assert(std::endian::native == std::endian::little, "stored numbers are little-endian");

// CRC-32C (Castagnoli), as iSCSI and ext4 use it: polynomial 0x1edc6f41, reflected, inverted at both ends.
// Uses the SSE4.2 instruction where the processor has it.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);
// Portable version with the same result: eight lookup tables, eight bytes a step.
std::uint32_t crc32c_by_tables(std::span<const std::uint8_t> bytes);

// Small positive and negative numbers become small ones: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
constexpr std::uint64_t zigzag(std::uint64_t x) { return x << 1 ^ (~(x >> 63) + 1); }
constexpr std::uint64_t unzigzag(std::uint64_t x) { return x >> 1 ^ (~(x & 1) + 1); }

class ByteWriter {
 public:
  void fixed32(std::uint32_t x);
  void unsigned_number(std::uint64_t x);
  void number(std::int64_t x) { unsigned_number(zigzag(static_cast<std::uint64_t>(x))); }
  // Length, then the bytes.
  void text(std::string_view s);
  // 8 bytes each, without a length: the reader must know how many there are.
  void words(std::span<const std::uint64_t> words);
  // The bytes with their checksum appended.
  std::vector<std::uint8_t> finish() &&;

 private:
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  // Verifies the checksum. `what` names the blob in messages. The bytes must outlive the reader.
  ByteReader(std::span<const std::uint8_t> bytes, std::string_view what);

  std::uint32_t fixed32();
  std::uint64_t unsigned_number();
  std::int64_t number() { return static_cast<std::int64_t>(unzigzag(unsigned_number())); }
  // A number in [min, max].
  std::int64_t number_in(std::int64_t min, std::int64_t max);
  std::int32_t number32(std::int64_t min = std::numeric_limits<std::int32_t>::min(),
                        std::int64_t max = std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(number_in(min, max));
  }
  // The number of elements that follow, each of at least `least_bytes`; fails when they cannot fit the remaining bytes.
  std::size_t count(std::size_t least_bytes = 1);
  std::string text();
  void words(std::span<std::uint64_t> out);
  // Throws Error unless all bytes were read.
  void expect_end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::string what_;
};

}  // namespace spscope
