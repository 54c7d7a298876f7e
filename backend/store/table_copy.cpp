#include "backend/store/table_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace spscope {

// Names of tables and columns are those of our own schema, so they need no quotes.
std::int64_t copy_rows(Database& from, Database& to, std::string_view table, bool keeps_first) {
  std::vector<std::string> columns;
  Statement names(to, "SELECT name FROM pragma_table_info(?) ORDER BY cid");
  names.bind(0, table);
  while (names.step()) columns.push_back(names.text(0));
  const std::vector<std::string> marks(columns.size(), "?");
  Statement rows(from, fmt::format("SELECT {} FROM main.{}", fmt::join(columns, ", "), table));
  Statement insert(to, fmt::format("INSERT {} INTO {} ({}) VALUES ({})", keeps_first ? "OR IGNORE" : "", table,
                                   fmt::join(columns, ", "), fmt::join(marks, ", ")));
  std::int64_t refused = 0;
  while (rows.step()) {
    insert.reset();
    for (int i = 0; i < rows.num_columns(); ++i) insert.copy(i, rows, i);
    refused += !insert.try_run();
  }
  return refused;
}

}  // namespace spscope
