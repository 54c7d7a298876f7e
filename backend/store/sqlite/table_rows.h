// The rows of a table in a file that may be damaged or cut short: what SQLite reports as corrupt is skipped and
// counted, and reading goes on at the next key that SQLite can find.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// What was skipped.
struct UnreadRows {
  std::int64_t gaps = 0;       // key ranges that SQLite cannot read; how many rows they held is not known
  std::int64_t bad_rows = 0;   // rows that `read` rejected, or whose key is not larger than those before
  std::optional<Error> cause;  // the first error of either kind

  bool any() const { return cause.has_value(); }
  // Throws the cause, if any.
  void require_none() const;
};

// Calls `read` with `columns` of each row of a table of our own schema, in ascending order of its key: the rowid or,
// for a table WITHOUT ROWID, the first column of its primary key. A table whose key begins with a text is read up to
// its first damage. `read` throws Error for a row that it rejects; kStoreWrite and lack of memory end the reading.
// Throws Error: there is no such table.
UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns,
                     const std::function<void(const Statement&)>& read);

// Throws the error again unless it is damage of what is read: lack of memory and a fault of the output are not, and end
// a merge however tolerant it is.
void require_damage(const Error& error);

}  // namespace spscope
