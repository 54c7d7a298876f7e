#include "backend/store/sqlite/page_checksums.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "backend/base/bytes.h"

namespace spscope {

namespace {

// The trailer: magic, bytes of a page, pages, change counter, a checksum for each page, checksum of all that; numbers
// of 4 bytes, little-endian.
constexpr std::string_view kTrailerMagic = "SPSC page sums 1";
constexpr std::int64_t kHeadBytes = 28, kFrameBytes = kHeadBytes + 4;
constexpr std::uint32_t kMinSummedPageBytes = 512, kMaxSummedPageBytes = 65536;

// Numbers of the header of an SQLite file, which are big-endian, with their offsets in it.
struct Header {
  std::uint32_t page_bytes = 0;      // 16; 1 stands for 65,536
  std::uint32_t change_counter = 0;  // 24; counts the transactions that changed the file
  std::uint32_t pages = 0;           // 28
  std::uint32_t valid_for = 0;       // 92: the change counter when SQLite last wrote the number of pages
};

std::optional<Header> read_header(const ReadBytes& read) {
  std::array<std::uint8_t, 100> bytes{};
  constexpr std::string_view kName("SQLite format 3\0", 16);
  if (!read(0, bytes) || std::memcmp(bytes.data(), kName.data(), kName.size()) != 0) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t count) {
    std::uint32_t x = 0;
    for (std::size_t i = at; i < at + count; ++i) x = x << 8 | bytes[i];
    return x;
  };
  return Header{number(16, 2) == 1 ? kMaxSummedPageBytes : number(16, 2), number(24, 4), number(28, 4), number(92, 4)};
}

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::int64_t at) {
  std::uint32_t x = 0;
  std::memcpy(&x, bytes.data() + at, sizeof x);
  return x;
}

// How many of the first bytes from `offset` on are those of a trailer.
std::int64_t magic_bytes_at(std::int64_t offset, std::int64_t file_bytes, const ReadBytes& read) {
  std::array<std::uint8_t, kTrailerMagic.size()> bytes{};
  const std::int64_t there = std::clamp<std::int64_t>(file_bytes - offset, 0, std::ssize(bytes));
  const std::span<std::uint8_t> begin = std::span(bytes).first(static_cast<std::size_t>(there));
  return read(offset, begin) && std::memcmp(begin.data(), kTrailerMagic.data(), begin.size()) == 0 ? there : 0;
}

struct TrailerPlace {
  std::int64_t offset = 0;
  std::uint32_t page_bytes = 0;
};

// The length of a file says where its trailer begins, whatever its header says. Of a file that was cut short, only the
// header does. Offset 0: there is none.
TrailerPlace find_trailer(const Header& header, std::int64_t file_bytes, const ReadBytes& read) {
  for (std::uint32_t page_bytes = kMinSummedPageBytes; page_bytes <= kMaxSummedPageBytes; page_bytes *= 2) {
    const std::int64_t of_pages = file_bytes - kFrameBytes;
    if (of_pages <= 0 || of_pages % (page_bytes + 4) != 0) continue;
    const std::int64_t offset = of_pages / (page_bytes + 4) * page_bytes;
    if (magic_bytes_at(offset, file_bytes, read) == std::ssize(kTrailerMagic)) return {offset, page_bytes};
  }
  const std::int64_t offset = std::int64_t{header.page_bytes} * header.pages;
  // Exactly the bytes of a trailer behind the last page are one, also when its magic is damaged.
  const bool has_length = file_bytes - offset == kFrameBytes + 4 * std::int64_t{header.pages};
  return offset > 0 && (has_length || magic_bytes_at(offset, file_bytes, read) > 0)
             ? TrailerPlace{offset, header.page_bytes}
             : TrailerPlace{};
}

void put_number(std::vector<std::uint8_t>& bytes, std::uint32_t number) {
  const auto four = std::bit_cast<std::array<std::uint8_t, 4>>(number);
  bytes.insert(bytes.end(), four.begin(), four.end());
}

bool read_at(int descriptor, std::int64_t offset, std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t n = ::pread(descriptor, out.data(), out.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (n == 0) errno = EIO;
      return false;
    }
    out = out.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
  return true;
}

bool write_at(int descriptor, std::int64_t offset, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
  return true;
}

}  // namespace

bool PageChecksums::match(std::uint32_t number, std::span<const std::uint8_t> page) const {
  return spscope::crc32c(page) == crc32c[number - 1];
}

PageChecksums read_page_checksums(std::int64_t file_bytes, const ReadBytes& read) {
  const std::optional<Header> header = read_header(read);
  if (!header) return {};
  const TrailerPlace place = find_trailer(*header, file_bytes, read);
  if (place.offset == 0) return {};
  PageChecksums checksums{PageChecksums::State::kDamaged, place.page_bytes, {}};
  const std::int64_t pages = place.offset / place.page_bytes;
  if (place.offset + kFrameBytes + 4 * pages > file_bytes) return checksums;  // a damaged header may name any number
  std::vector<std::uint8_t> trailer(static_cast<std::size_t>(kFrameBytes + 4 * pages));
  if (!read(place.offset, trailer)) return checksums;
  const std::span<const std::uint8_t> sealed(trailer.data(), trailer.size() - 4);
  if (crc32c(sealed) != number_at(trailer, std::ssize(sealed)) || number_at(trailer, 16) != place.page_bytes ||
      number_at(trailer, 20) != pages)
    return checksums;
  // SQLite writes both numbers with each transaction that changes a file; damage changes one of them.
  if (header->change_counter == header->valid_for && header->change_counter != number_at(trailer, 24)) {
    checksums.state = PageChecksums::State::kEdited;
    return checksums;
  }
  checksums.state = PageChecksums::State::kThere;
  checksums.crc32c.resize(static_cast<std::size_t>(pages));
  std::memcpy(checksums.crc32c.data(), trailer.data() + kHeadBytes, 4 * checksums.crc32c.size());
  return checksums;
}

std::vector<std::uint32_t> unmatched_pages(const PageChecksums& checksums, const ReadBytes& read) {
  std::vector<std::uint32_t> unmatched;
  std::vector<std::uint8_t> page(checksums.page_bytes);
  for (std::uint32_t number = 1; number <= checksums.crc32c.size(); ++number)
    if (!read(std::int64_t{number - 1} * checksums.page_bytes, page) || !checksums.match(number, page))
      unmatched.push_back(number);
  return unmatched;
}

// A CRC is linear: what one flipped bit changes in it depends on how many bits follow, and on nothing else.
bool mend_bit(std::span<std::uint8_t> page, std::uint32_t wanted) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  const std::uint32_t difference = wanted ^ crc32c(page);
  std::uint32_t of_bit = kPolynomial;
  for (std::size_t bit = 8 * page.size(); bit-- > 0;) {
    if (of_bit == difference) {
      page[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      return true;
    }
    of_bit = of_bit >> 1 ^ (kPolynomial & (~(of_bit & 1) + 1));
  }
  return false;
}

bool append_page_checksums(int descriptor) {
  const std::optional<Header> header =
      read_header([&](std::int64_t offset, std::span<std::uint8_t> out) { return read_at(descriptor, offset, out); });
  if (!header) return errno = EINVAL, false;
  std::vector<std::uint8_t> trailer(kTrailerMagic.begin(), kTrailerMagic.end());
  put_number(trailer, header->page_bytes);
  put_number(trailer, header->pages);
  put_number(trailer, header->change_counter);
  std::vector<std::uint8_t> page(header->page_bytes);
  for (std::uint32_t i = 0; i < header->pages; ++i) {
    if (!read_at(descriptor, std::int64_t{i} * header->page_bytes, page)) return false;
    put_number(trailer, crc32c(page));
  }
  put_number(trailer, crc32c(trailer));
  return write_at(descriptor, std::int64_t{header->pages} * header->page_bytes, trailer);
}

}  // namespace spscope
