// Which tables and views of a store an export holds.
#pragma once

#include <string>
#include <vector>

#include "backend/store/sqlite/sqlite.h"

namespace spscope {

struct ExportColumn {
  std::string name, type;
};
struct ExportTable {
  std::string name;
  std::vector<ExportColumn> columns;
};

// The ordinary tables of this program's schema but for those that hold something in a packed form, for which the
// virtual tables and pyramids stand.
std::vector<ExportTable> ordinary_tables();
// temp.event with its hidden columns, temp.event_stats without its arguments, and temp.counter.
std::vector<ExportTable> virtual_tables(Database& db);
// "SELECT a, b FROM main.t"
std::string select_all(const ExportTable& table, const std::string& schema);

}  // namespace spscope
