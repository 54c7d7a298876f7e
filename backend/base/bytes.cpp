#include "backend/base/bytes.h"

#include <fmt/format.h>

#include <cstring>

#include "backend/base/error.h"

namespace spscope {

namespace {

constexpr std::size_t kChecksumBytes = 4;

}  // namespace

void ByteWriter::fixed32(std::uint32_t x) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(x >> shift));
}

void ByteWriter::unsigned_number(std::uint64_t x) {
  while (x >= 0x80) {
    bytes_.push_back(static_cast<std::uint8_t>(x | 0x80));
    x >>= 7;
  }
  bytes_.push_back(static_cast<std::uint8_t>(x));
}

void ByteWriter::text(std::string_view s) {
  unsigned_number(s.size());
  bytes_.insert(bytes_.end(), s.begin(), s.end());
}

void ByteWriter::words(std::span<const std::uint64_t> words) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + words.size_bytes());
  if (!words.empty()) std::memcpy(bytes_.data() + at, words.data(), words.size_bytes());
}

std::vector<std::uint8_t> ByteWriter::finish() && {
  fixed32(crc32c(bytes_));
  return std::move(bytes_);
}

ByteReader::ByteReader(std::span<const std::uint8_t> bytes, std::string_view what) : bytes_(bytes), what_(what) {
  if (bytes.size() < kChecksumBytes) fail("it is too short");
  bytes_ = bytes.first(bytes.size() - kChecksumBytes);
  std::uint32_t stored;
  std::memcpy(&stored, bytes.data() + bytes_.size(), sizeof stored);
  if (stored != crc32c(bytes_)) fail("its checksum is wrong");
}

void ByteReader::fail(std::string_view why) const {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read {}: {}", what_, why),
              "the file is damaged; copy it again from where it was made");
}

std::uint32_t ByteReader::fixed32() {
  if (left() < 4) fail("it ends early");
  std::uint32_t x;
  std::memcpy(&x, bytes_.data() + at_, sizeof x);
  at_ += sizeof x;
  return x;
}

std::uint64_t ByteReader::unsigned_number() {
  std::uint64_t x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (left() == 0) fail("it ends early");
    const std::uint64_t byte = bytes_[at_++];
    if (shift == 63 && byte > 1) break;
    x |= (byte & 0x7f) << shift;
    if (byte < 0x80) return x;
  }
  fail("a number has more than 64 bits");
}

std::int64_t ByteReader::number_in(std::int64_t min, std::int64_t max) {
  const std::int64_t x = number();
  if (x < min || x > max) fail(fmt::format("{} is outside {} to {}", x, min, max));
  return x;
}

std::size_t ByteReader::count(std::size_t least_bytes) {
  const std::uint64_t n = unsigned_number();
  if (n > left() / least_bytes) fail(fmt::format("{} elements do not fit", n));
  return static_cast<std::size_t>(n);
}

std::string ByteReader::text() {
  const std::size_t n = count();
  std::string s(reinterpret_cast<const char*>(bytes_.data() + at_), n);
  at_ += n;
  return s;
}

void ByteReader::words(std::span<std::uint64_t> out) {
  if (out.size() > left() / sizeof(std::uint64_t)) fail("it ends early");
  if (!out.empty()) std::memcpy(out.data(), bytes_.data() + at_, out.size_bytes());
  at_ += out.size_bytes();
}

void ByteReader::expect_end() const {
  if (left() != 0) fail(fmt::format("{} bytes follow its end", left()));
}

}  // namespace spscope
