// Copies a table of our own schema from one database to another.
#pragma once

#include <string_view>

#include "backend/store/sqlite/sqlite.h"
#include "backend/store/sqlite/table_rows.h"

namespace spscope {

struct CopyRules {
  bool keeps_first = false;  // a row whose key is there already is passed over in silence
  bool tolerant = false;     // damage is passed over and counted
};

// All rows of `table`, with the columns that it has in `to`. A row that breaks a rule of the table is damage of `from`:
// we did not write it. Throws Error: `from` cannot be read, or `to` written.
UnreadRows copy_rows(Database& from, Database& to, std::string_view table, const CopyRules& rules = {});

}  // namespace spscope
