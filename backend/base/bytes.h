// Bytes of stored blobs: little-endian fixed numbers, variable-length integers (7 bits a byte, low bits first; signed
// ones zigzag), and a CRC-32C at the end. The reader trusts nothing: it throws Error (kStoreCorrupt) instead of reading
// past the end, and a count is compared with the bytes that are left before anything is allocated for it.
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
// By the processor's instruction where it has one.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);
// The same on any processor.
std::uint32_t crc32c_by_tables(std::span<const std::uint8_t> bytes);

class ByteWriter {
 public:
  void fixed32(std::uint32_t x);
  void unsigned_number(std::uint64_t x);
  void number(std::int64_t x) {
    unsigned_number(static_cast<std::uint64_t>(x) << 1 ^ static_cast<std::uint64_t>(x >> 63));
  }
  void text(std::string_view s);
  void words(std::span<const std::uint64_t> words);
  // Appends the checksum of everything so far.
  std::vector<std::uint8_t> finish() &&;

 private:
  std::vector<std::uint8_t> bytes_;
};

class ByteReader {
 public:
  // Checks the checksum at the end. `what` names the blob in messages. The bytes must outlive the reader.
  ByteReader(std::span<const std::uint8_t> bytes, std::string_view what);

  std::uint32_t fixed32();
  std::uint64_t unsigned_number();
  std::int64_t number() {
    const std::uint64_t x = unsigned_number();
    return static_cast<std::int64_t>(x >> 1 ^ (~(x & 1) + 1));
  }
  // A number in [min, max].
  std::int64_t number_in(std::int64_t min, std::int64_t max);
  std::int32_t number32(std::int64_t min = std::numeric_limits<std::int32_t>::min(),
                        std::int64_t max = std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(number_in(min, max));
  }
  // How many elements follow, each of at least `least_bytes`: never more than the bytes that are left can hold.
  std::size_t count(std::size_t least_bytes = 1);
  std::string text();
  void words(std::span<std::uint64_t> out);
  // Throws unless everything was read.
  void expect_end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::string what_;
};

}  // namespace spscope
