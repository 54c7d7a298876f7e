#include "backend/store/sqlite/table_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace spscope {

// Names of tables and columns are those of our own schema, so they need no quotes.
UnreadRows copy_rows(Database& from, Database& to, std::string_view table, OnSameKey same_key) {
  std::vector<std::string> columns;
  Statement names(to, "SELECT name FROM pragma_table_info(?) ORDER BY cid");
  names.bind(0, table);
  while (names.step()) columns.push_back(names.text(0));
  const std::vector<std::string> marks(columns.size(), "?");
  const std::string list = fmt::format("{}", fmt::join(columns, ", "));
  Statement insert(
      to, fmt::format("INSERT {} INTO {} ({}) VALUES ({})", same_key == OnSameKey::kKeepFirst ? "OR IGNORE" : "", table,
                      list, fmt::join(marks, ", ")));
  return read_rows(from, table, list, [&](const Statement& row) {
    insert.reset();
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) insert.copy(i, row, i);
    if (!insert.try_run())
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": a row of table {} breaks a rule of the table", from.path(), table),
                  "recover what can be read with spscope recover");
  });
}

}  // namespace spscope
