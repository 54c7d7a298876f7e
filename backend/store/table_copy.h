// Copies a table of our own schema from one database to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/store/sqlite.h"

namespace spscope {

// All rows of `table`, with the columns that it has in `to`. Returns how many were left out because they break a rule
// of the table: we did not write them, so they are damage of `from`. `keeps_first`: a row whose key is there already is
// passed over in silence. Throws Error: `from` cannot be read, or `to` written.
std::int64_t copy_rows(Database& from, Database& to, std::string_view table, bool keeps_first = false);

}  // namespace spscope
