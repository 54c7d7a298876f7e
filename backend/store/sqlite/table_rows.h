// The rows of a table in a file that may be damaged or cut short: what cannot be read is left out and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// What was left out.
struct UnreadRows {
  bool rest = false;           // SQLite could not read on from some row; no one knows how many follow
  std::int64_t bad_rows = 0;   // rows that `read` rejected
  std::optional<Error> cause;  // the first error of either kind

  bool any() const { return cause.has_value(); }
};

// Calls `read` with `columns` of each row of a table of our own schema, in the order of its key, up to the first page
// that SQLite cannot read. `read` throws Error for a row that it rejects; kStoreWrite and lack of memory end the
// reading. Throws Error: there is no such table.
UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns,
                     const std::function<void(const Statement&)>& read);

// Throws the error again unless it is damage of what is read: lack of memory, a fault of the output and another schema
// are not, and end a merge however tolerant it is.
void require_damage(const Error& error);

}  // namespace spscope
