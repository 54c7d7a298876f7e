// Every page of a finished file against its checksum, also of a file that cannot be opened as a store.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/store/sqlite/page_checksums.h"

namespace spscope {

struct CheckedPages {
  PageChecksums::State state = PageChecksums::State::kNone;
  std::int64_t pages = 0;          // that have a checksum
  std::vector<std::uint32_t> bad;  // their numbers, from 1, ascending
};

// A path that is no regular file, or cannot be read, has no pages.
CheckedPages check_pages(const std::string& path);

}  // namespace spscope
