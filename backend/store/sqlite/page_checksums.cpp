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

// The trailer: a checksum for each page, and as the last bytes of the file magic, bytes of a page, pages, change
// counter, checksum of all that; numbers of 4 bytes, little-endian.
constexpr std::string_view kTrailerMagic = "SPSC page sums 2";
constexpr std::int64_t kEndBytes = 32;
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
  PageChecksums checksums{PageChecksums::State::kDamaged, 0, {}};
  std::array<std::uint8_t, kEndBytes> end{};
  const bool ends_so = file_bytes >= kEndBytes && read(file_bytes - kEndBytes, end) &&
                       std::memcmp(end.data(), kTrailerMagic.data(), kTrailerMagic.size()) == 0;
  if (!ends_so) {
    // SQLite's own files end with their last page.
    if (file_bytes == std::int64_t{header->page_bytes} * header->pages) checksums.state = PageChecksums::State::kNone;
    return checksums;
  }
  checksums.page_bytes = number_at(end, 16);
  const std::int64_t pages = number_at(end, 20);
  const std::int64_t offset = checksums.page_bytes * pages;
  if (checksums.page_bytes < kMinSummedPageBytes || checksums.page_bytes > kMaxSummedPageBytes ||
      offset + 4 * pages + kEndBytes != file_bytes)
    return checksums;
  std::vector<std::uint8_t> trailer(static_cast<std::size_t>(4 * pages + kEndBytes));
  if (!read(offset, trailer)) return checksums;
  const std::span<const std::uint8_t> sealed(trailer.data(), trailer.size() - 4);
  const bool whole = crc32c(sealed) == number_at(trailer, std::ssize(sealed));
  // SQLite writes both numbers with each transaction that changes a file; damage changes one of them. Pages that it
  // adds take the place of checksums.
  const bool edited = header->change_counter == header->valid_for && header->change_counter != number_at(end, 24);
  if (edited && (whole || header->pages > pages)) checksums.state = PageChecksums::State::kEdited;
  if (edited || !whole) return checksums;
  checksums.state = PageChecksums::State::kThere;
  checksums.crc32c.resize(static_cast<std::size_t>(pages));
  std::memcpy(checksums.crc32c.data(), trailer.data(), 4 * checksums.crc32c.size());
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

bool append_page_checksums(int descriptor) {
  const std::optional<Header> header =
      read_header([&](std::int64_t offset, std::span<std::uint8_t> out) { return read_at(descriptor, offset, out); });
  if (!header) return errno = EINVAL, false;
  std::vector<std::uint8_t> trailer, page(header->page_bytes);
  for (std::uint32_t i = 0; i < header->pages; ++i) {
    if (!read_at(descriptor, std::int64_t{i} * header->page_bytes, page)) return false;
    put_number(trailer, crc32c(page));
  }
  trailer.insert(trailer.end(), kTrailerMagic.begin(), kTrailerMagic.end());
  for (const std::uint32_t number : {header->page_bytes, header->pages, header->change_counter})
    put_number(trailer, number);
  put_number(trailer, crc32c(trailer));
  return write_at(descriptor, std::int64_t{header->pages} * header->page_bytes, trailer);
}

}  // namespace spscope
