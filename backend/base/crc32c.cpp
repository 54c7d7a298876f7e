// CRC-32C twice: with the instruction that x86-64 has had since SSE4.2, and by tables.
#include <array>
#include <cstring>

#include "backend/base/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace spscope {

namespace {

// Eight tables: table k is the effect of a byte k places before the end, so that eight bytes take one step.
constexpr std::array<std::array<std::uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0x82f63b78u & (~(crc & 1) + 1));
    tables[0][byte] = crc;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    for (std::size_t k = 1; k < 8; ++k)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr auto kCrcTables = make_crc_tables();

using Checksum = std::uint32_t (*)(std::span<const std::uint8_t>);

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::span<const std::uint8_t> bytes) {
  std::uint64_t crc = 0xffffffffu;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    crc = _mm_crc32_u64(crc, eight);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; at < bytes.size(); ++at) rest = _mm_crc32_u8(rest, bytes[at]);
  return ~rest;
}

Checksum fastest_checksum() {
  return __builtin_cpu_supports("sse4.2") != 0 ? &crc32c_by_instruction : &crc32c_by_tables;
}

#else

Checksum fastest_checksum() { return &crc32c_by_tables; }

#endif

}  // namespace

std::uint32_t crc32c_by_tables(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0u;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    eight ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kCrcTables[7 - k][eight >> 8 * k & 0xff];
  }
  for (; at < bytes.size(); ++at) crc = crc >> 8 ^ kCrcTables[0][(crc ^ bytes[at]) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  static const Checksum checksum = fastest_checksum();
  return checksum(bytes);
}

}  // namespace spscope
