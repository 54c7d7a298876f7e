// Reading a finished file so that no page reaches SQLite that is not as it was written: a VFS of SQLite that compares
// each page with its checksum (page_checksums.h) when SQLite reads it, and otherwise is the usual one. Pages that are
// not read cost nothing. A file without checksums is read as it is.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/store/sqlite/page_checksums.h"

namespace spscope {

// What becomes of a page that does not match: its reading fails with SQLITE_CORRUPT. With kMend one in which a single
// bit is wrong is read as it was written.
enum class BadPages { kRefuse, kMend };

struct PageCheck {
  PageChecksums checksums;
  BadPages bad_pages = BadPages::kRefuse;
  std::uint32_t refused = 0;          // the page that failed last, from 1; 0: none
  std::vector<std::uint32_t> mended;  // each once
  sqlite3_file* file = nullptr;       // of the usual VFS
};

// The name of the VFS, which the first call makes known to SQLite. It is for opening with immutable=1 and, for kMend,
// mend=1 in the URI.
const char* checked_vfs();
// Of a connection that was opened with it; otherwise nullptr. Lives as long as the connection.
PageCheck* page_check(sqlite3* db);

// To what a page belongs, by the trees of tables and indices: "table run", "an index of table chunk", "a long value".
// "" when the list of tables cannot be read. Reads no more than the inner pages of the trees.
std::string owner_of_page(sqlite3* db, std::uint32_t page);

}  // namespace spscope
