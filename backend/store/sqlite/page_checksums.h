// The checksums of a finished file: a CRC-32C of each of its pages, in a trailer behind the last page, where SQLite
// does not look. They cover tables, indices and SQLite's own numbers alike, so that one flipped bit anywhere in a file
// is found when its page is read (docs/decisions/0011-page-checksums.md). docs/file-format.md has the bytes of the
// trailer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace spscope {

struct PageChecksums {
  enum class State {
    kNone,     // the file ends with its last page: it is a shard, or another program wrote the file anew
    kEdited,   // SQLite changed the file after the trailer was written: the checksums say nothing any more
    kDamaged,  // the trailer is cut short or not as it was written
    kThere,
  };
  State state = State::kNone;
  std::uint32_t page_bytes = 0;
  std::vector<std::uint32_t> crc32c;  // of page 1, 2, ...; only when kThere

  // Whether these are the bytes that page `number`, from 1, was written with. REQUIRES: there is a checksum of it.
  bool match(std::uint32_t number, std::span<const std::uint8_t> page) const;
};

// Fills `out` with the bytes of a file from `offset` on; false when they are not all there.
using ReadBytes = std::function<bool(std::int64_t offset, std::span<std::uint8_t> out)>;

// Of a file of `file_bytes` bytes. What is no SQLite file has none.
PageChecksums read_page_checksums(std::int64_t file_bytes, const ReadBytes& read);
// The numbers of the pages that do not match, ascending.
std::vector<std::uint32_t> unmatched_pages(const PageChecksums& checksums, const ReadBytes& read);

// Appends the trailer to a complete SQLite file that nobody writes any more. False: errno has the reason.
bool append_page_checksums(int descriptor);

}  // namespace spscope
