// `spscope sql FILE QUERY`: the answer of one read-only question, as a table, CSV or JSON.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <ostream>

#include "backend/base/csv_table.h"
#include "backend/base/json.h"
#include "backend/cli/command.h"
#include "backend/report/query_table.h"
#include "backend/report/render.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

struct SqlFlags {
  std::string file, query;
  bool csv = false;
};

void print_csv(std::ostream& out, const QueryResult& result) {
  for (std::size_t c = 0; c < result.columns.size(); ++c) out << (c > 0 ? "," : "") << csv_field(result.columns[c]);
  out << "\r\n";
  for (std::size_t r = 0; r < result.rows.size(); ++r) {
    for (std::size_t c = 0; c < result.columns.size(); ++c) {
      const std::string value = result.rows[r][c].value_or("");
      out << (c > 0 ? "," : "") << (result.kinds[r][c] == ValueKind::kText ? csv_field(value) : value);
    }
    out << "\r\n";
  }
}

Json json_of(const std::string& value, ValueKind kind) {
  if (kind == ValueKind::kInteger) return std::strtoll(value.c_str(), nullptr, 10);
  if (kind == ValueKind::kReal) return std::strtod(value.c_str(), nullptr);
  return value;
}

void print_json(std::ostream& out, const QueryResult& result) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < result.rows.size(); ++r) {
    Json row = Json::array();
    for (std::size_t c = 0; c < result.columns.size(); ++c)
      row.push_back(result.rows[r][c] ? json_of(*result.rows[r][c], result.kinds[r][c]) : Json());
    rows.push_back(std::move(row));
  }
  const Json object = {
      {"schema_version", 1}, {"columns", result.columns}, {"rows", std::move(rows)}, {"truncated", result.truncated}};
  out << object.dump(2) << '\n';
}

int ask(CommandContext& context, const SqlFlags& flags) {
  const QueryResult result = StoreReader(flags.file).query(flags.query);
  if (context.json) {
    print_json(context.out, result);
  } else if (flags.csv) {
    print_csv(context.out, result);
  } else {
    TerminalStyle style;
    style.color = context.color;
    context.out << render_terminal(query_table(result, ValueTexts::kShort), style);
  }
  if (result.truncated)
    context.err << fmt::format("only the first {} rows are shown; LIMIT and OFFSET give the others\n",
                               result.rows.size());
  return kExitDone;
}

}  // namespace

Command declare_sql() {
  auto flags = std::make_shared<SqlFlags>();
  Command command;
  command.flags = {
      {.names = "file", .help = "stored run", .target = &flags->file, .required = true},
      {.names = "query",
       .help = "one question in SQL about the tables and views below",
       .target = &flags->query,
       .required = true},
      {.names = "--csv", .help = "print comma-separated values", .target = &flags->csv},
  };
  command.action = [flags](CommandContext& context) { return ask(context, *flags); };
  return command;
}

}  // namespace spscope
