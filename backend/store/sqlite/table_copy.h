// Copies a table of our own schema from one database to another.
#pragma once

#include <string_view>

#include "backend/store/sqlite/sqlite.h"
#include "backend/store/sqlite/table_rows.h"

namespace spscope {

// What is done with a row whose key is already in the output.
enum class OnSameKey { kReject, kKeepFirst };

// All rows of `table`, with the columns that it has in `to`. A row that breaks a rule of the table is damage of `from`:
// we did not write it. Returns what
// was not copied. Throws Error: `to` cannot be written.
UnreadRows copy_rows(Database& from, Database& to, std::string_view table, OnSameKey same_key = OnSameKey::kReject);

}  // namespace spscope
