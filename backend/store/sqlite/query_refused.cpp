#include "backend/store/sqlite/query_refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "backend/base/nearest_name.h"

namespace spscope {
namespace {

constexpr std::string_view kSchema = "SELECT name, sql FROM sqlite_master lists tables, views and their columns";

std::vector<std::string_view> words_of(std::string_view sql) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < sql.size();) {
    const std::size_t begin = i;
    while (i < sql.size() && in_word(sql[i])) ++i;
    if (i > begin)
      words.push_back(sql.substr(begin, i - begin));
    else
      ++i;
  }
  return words;
}

std::vector<std::string> table_names(Database& db) {
  std::vector<std::string> names;
  Statement rows(db,
                 "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') UNION "
                 "SELECT name FROM temp.sqlite_master WHERE type IN ('table', 'view') ORDER BY name");
  while (rows.step()) names.push_back(rows.text(0));
  return names;
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  return nearest_name(name, std::vector<std::string_view>(known.begin(), known.end()));
}

std::string table_hint(Database& db, std::string_view table) {
  const std::vector<std::string> names = table_names(db);
  const std::string near = nearest(table.substr(table.rfind('.') + 1), names);
  return near.empty() ? fmt::format("tables and views are {}; {}", fmt::join(names, ", "), kSchema)
                      : fmt::format("did you mean \"{}\"? {}", near, kSchema);
}

// The columns of the tables and views that the question names.
std::string column_hint(Database& db, const std::string& sql, std::string_view column) {
  const std::vector<std::string_view> words = words_of(sql);
  std::vector<std::string> columns;
  std::string listed;
  for (const std::string& table : table_names(db)) {
    if (std::ranges::find(words, table) == words.end()) continue;
    std::vector<std::string> its;
    Statement rows(db, "SELECT name FROM pragma_table_info(?)");
    rows.bind(0, table);
    while (rows.step()) its.push_back(rows.text(0));
    listed += fmt::format("{}{} has {}", listed.empty() ? "" : "; ", table, fmt::join(its, ", "));
    columns.insert(columns.end(), its.begin(), its.end());
  }
  const std::string near = nearest(column.substr(column.rfind('.') + 1), columns);
  if (!near.empty()) return fmt::format("did you mean \"{}\"? {}", near, kSchema);
  return listed.empty() ? std::string(kSchema) : listed;
}

}  // namespace

Error only_read(const std::string& sql) {
  const std::vector<std::string_view> words = words_of(sql);
  std::string verb(words.empty() ? std::string_view("this") : words.front());
  std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  // A question can hold what is not allowed: a function that loads code.
  const bool question = verb == "SELECT" || verb == "WITH" || verb == "VALUES";
  return Error(ErrorCode::kStoreQuery,
               question ? "the question uses what is not allowed: a stored run is only read"
                        : fmt::format("not allowed: {}; a stored run is only read", verb),
               "ask with SELECT over its tables and views; to change data, change a copy: spscope export FILE --format "
               "plain-sqlite -o COPY.db, then sqlite3 COPY.db");
}

Error refused_question(Database& db, const std::string& sql, const std::string& message) {
  constexpr std::string_view kNoTable = "no such table: ", kNoColumn = "no such column: ";
  const std::string_view said = message;
  std::string hint = fmt::format("for example SELECT name, label FROM strategy; {}", kSchema);
  if (said.starts_with("not authorized")) return only_read(sql);  // a function, refused where it is called
  if (said.starts_with(kNoTable))
    hint = table_hint(db, said.substr(kNoTable.size()));
  else if (said.starts_with(kNoColumn))
    hint = column_hint(db, sql, said.substr(kNoColumn.size()));
  return Error(ErrorCode::kStoreQuery, message, hint);
}

}  // namespace spscope
