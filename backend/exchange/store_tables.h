// The tables and views of a store that exports contain.
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

// The ordinary tables of this program's schema except those with packed content, which exports take from the virtual
// tables instead.
std::vector<ExportTable> ordinary_tables();
// temp.event with its hidden columns, temp.event_stats without its arguments, and temp.counter.
std::vector<ExportTable> virtual_tables(Database& db);
// "SELECT a, b FROM main.t"
std::string select_all(const ExportTable& table, const std::string& schema);

}  // namespace spscope
