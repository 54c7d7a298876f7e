// Reading a finished file so that no page reaches SQLite that is not as it was written: a VFS of SQLite that compares
// each page with its checksum (page_checksums.h) when SQLite reads it, and otherwise is the usual one. Pages that are
// not read cost nothing. A file without checksums is read as it is.
#pragma once

#include <sqlite3.h>

#include <cstdint>

#include "backend/store/sqlite/page_checksums.h"

namespace spscope {

struct PageCheck {
  PageChecksums checksums;
  std::uint32_t refused = 0;  // the page that failed last, from 1; 0: none
};

// The name of the VFS, which the first call makes known to SQLite. It is for opening with immutable=1 in the URI. The
// reading of a page that does not match fails with SQLITE_CORRUPT.
const char* checked_vfs();
// Of a connection that was opened with it; otherwise nullptr. Lives as long as the connection.
PageCheck* page_check(sqlite3* db);

}  // namespace spscope
