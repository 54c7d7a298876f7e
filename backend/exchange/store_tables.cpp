#include "backend/exchange/store_tables.h"

#include <algorithm>

#include "backend/store/embedded_schema.h"

namespace spscope {

namespace {

constexpr std::string_view kPacked[] = {"chunk", "pyramid", "lod_busy", "lod_strip"};

std::vector<ExportColumn> columns_of(Database& db, const std::string& table, const std::string& schema, bool hidden) {
  Statement rows(db, "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden = 0 OR ? ORDER BY cid");
  rows.bind_all(table, schema, hidden);
  std::vector<ExportColumn> columns;
  while (rows.step()) columns.push_back({rows.text(0), rows.text(1)});
  return columns;
}

}  // namespace

std::vector<ExportTable> ordinary_tables() {
  Database schema = Database::in_memory();
  schema.execute(std::string(embedded_schema()));
  Statement names(schema,
                  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  std::vector<ExportTable> tables;
  while (names.step()) {
    const std::string name = names.text(0);
    if (std::ranges::find(kPacked, name) == std::end(kPacked))
      tables.push_back({name, columns_of(schema, name, "main", false)});
  }
  return tables;
}

std::vector<ExportTable> virtual_tables(Database& db) {
  return {{"event", columns_of(db, "event", "temp", true)},
          {"event_stats", columns_of(db, "event_stats", "temp", false)},
          {"counter", columns_of(db, "counter", "temp", false)}};
}

std::string select_all(const ExportTable& table, const std::string& schema) {
  std::string sql;
  for (const ExportColumn& column : table.columns) sql += (sql.empty() ? "SELECT " : ", ") + column.name;
  return sql + " FROM " + schema + "." + table.name;
}

}  // namespace spscope
