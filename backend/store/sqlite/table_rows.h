// The rows of a table whose pages may be damaged or missing, in order of their keys: what SQLite cannot read is passed
// over, and reading goes on at the next key that can be found.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// First numbers of keys, both ends included.
struct KeyRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min(), last = std::numeric_limits<std::int64_t>::max();
};

// What was passed over.
struct UnreadRows {
  std::int64_t gaps = 0;       // places where rows are, or were, that cannot be read
  std::int64_t bad_rows = 0;   // rows that `read` could not take, or that are behind one with a larger key
  std::vector<KeyRange> keys;  // where rows may be missing: of every gap and bad row
  std::optional<Error> cause;  // the first of either

  bool any() const { return cause.has_value(); }
};

// Calls `read` with `columns` of each row of a table of our own schema. After a place that cannot be read it goes on at
// the next readable key: that of the row, or the leading numbers, at most two, of a key of more columns; a table whose
// key begins with a text is read up to its first damage. `tolerant` false: the first fault is thrown as it is met.
// Throws Error: the table itself is not to be found. `read` throws Error for a row that makes no sense; kStoreWrite,
// and want of memory, end the reading.
UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns, bool tolerant,
                     const std::function<void(const Statement&)>& read);

// More rows than the file and its log have room for: pages of a damaged tree may be reached on many ways.
std::int64_t most_rows(const Database& db);

// Throws the error again unless it is damage of what is read: want of memory, and a fault of what is written, are not,
// and end a merge however tolerant it is.
void require_damage(const Error& error);

}  // namespace spscope
