// A database of ordinary tables that any program with SQLite reads: `event` with a row an event, `event_stats`, every
// small table of the store, and the views of schemas/views as views of the file.
#include <fmt/format.h>

#include <string_view>

#include "backend/base/regular_file.h"
#include "backend/base/whole_file.h"
#include "backend/exchange/export.h"
#include "backend/exchange/store_tables.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/sqlite/any_value.h"

namespace spscope {

namespace {

// "SPSX": an export, which is not opened as a store.
constexpr std::string_view kApplicationText = "SPSX";
constexpr int kPlainApplicationId = 0x53505358;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Fills a table of the same columns. Returns the number of rows.
std::int64_t copy_table(Database& from, const std::string& schema, const ExportTable& table, Database& to) {
  std::string marks;
  for (std::size_t i = 0; i < table.columns.size(); ++i) marks += i == 0 ? "?" : ", ?";
  Statement insert(to, fmt::format("INSERT INTO {} VALUES ({})", table.name, marks));
  Statement rows(from, select_all(table, schema));
  std::int64_t count = 0;
  for (; rows.step(); ++count) copy_row(rows, insert);
  return count;
}

void create_table(Database& db, const ExportTable& table, bool has_key) {
  std::string columns;
  for (const ExportColumn& column : table.columns)
    columns += fmt::format("{}{} {}{}", columns.empty() ? "" : ", ", column.name, column.type,
                           has_key && columns.empty() ? " PRIMARY KEY" : "");
  db.execute(fmt::format("CREATE TABLE {} ({})", table.name, columns));
}

}  // namespace

ExportReport export_plain_sqlite(const ExportSource& source, const std::string& path) {
  ExportReport report;
  WholeFile file(path);
  {
    Database to = Database::create(file.held_path(), path);
    // The index is sorted in a file: in memory it would take 50 bytes an event.
    to.execute(fmt::format("PRAGMA application_id = {}; PRAGMA temp_store = FILE", kPlainApplicationId));
    Transaction transaction(to);
    for (const ExportTable& table : ordinary_tables()) {
      create_table(to, table, false);
      copy_table(*source.db, "main", table, to);
    }
    for (const ExportTable& table : virtual_tables(*source.db)) {
      create_table(to, table, table.name == "event");
      const std::int64_t rows = copy_table(*source.db, "temp", table, to);
      if (table.name == "event") report.events = rows;
    }
    to.execute("CREATE INDEX event_by_run ON event (run_id, begin_ns)");
    for (const SqlText& view : embedded_views())
      to.execute(replaced(replaced(replaced(std::string(view.text), "CREATE TEMP VIEW", "CREATE VIEW"), "temp.", ""),
                          "main.", ""));
    transaction.commit();
  }
  file.commit();
  return report;
}

bool is_plain_sqlite(const std::string& path) {
  constexpr std::size_t kHeaderBytes = 72;
  const RegularFile file(path);
  const std::string text = file.is_open() ? file.read_at(0, kHeaderBytes) : "";
  return text.size() == kHeaderBytes && text.substr(0, 16) == std::string_view("SQLite format 3\0", 16) &&
         text.substr(68, 4) == kApplicationText;
}

}  // namespace spscope
