#include "backend/store/check_pages.h"

#include <sys/stat.h>

#include <cstring>

#include "backend/base/regular_file.h"

namespace spscope {

CheckedPages check_pages(const std::string& path) {
  CheckedPages checked;
  const RegularFile file(path);
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.descriptor(), &status) != 0) return checked;
  const ReadBytes read = [&](std::int64_t offset, std::span<std::uint8_t> out) {
    const std::string bytes = file.read_at(static_cast<std::size_t>(offset), out.size());
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return bytes.size() == out.size();
  };
  const PageChecksums checksums = read_page_checksums(status.st_size, read);
  checked.state = checksums.state;
  checked.pages = std::ssize(checksums.crc32c);
  checked.bad = unmatched_pages(checksums, read);
  return checked;
}

}  // namespace spscope
