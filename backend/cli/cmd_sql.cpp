// `spscope sql FILE QUERY`: the answer of one read-only question, as a table, CSV or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/cli/command.h"
#include "backend/exchange/csv_text.h"
#include "backend/report/render.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

struct SqlFlags {
  std::string file, query;
  bool csv = false;
};

bool is_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A table is for people: of a long value it shows the beginning. --csv and --json give the whole.
std::string cell_of(const std::string& value) {
  constexpr std::size_t kMaxBytes = 400;
  if (value.size() <= kMaxBytes) return value;
  std::size_t cut = kMaxBytes;
  while (cut > 0 && (static_cast<unsigned char>(value[cut]) & 0xc0) == 0x80) --cut;  // between characters
  return fmt::format("{}... ({} bytes)", value.substr(0, cut), value.size());
}

Table table_of(const QueryResult& result) {
  Table table;
  for (std::size_t c = 0; c < result.columns.size(); ++c) {
    const bool numbers =
        std::ranges::all_of(result.rows, [c](const auto& row) { return !row[c] || is_number(*row[c]); });
    table.columns.push_back({result.columns[c], "", !numbers});
  }
  for (const auto& values : result.rows) {
    Row row;
    for (const auto& value : values) row.cells.push_back(text_cell(value ? cell_of(*value) : "NULL"));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void print_csv(std::ostream& out, const QueryResult& result) {
  const auto print_line = [&out](const auto& fields, auto&& text_of) {
    for (std::size_t i = 0; i < fields.size(); ++i) out << (i > 0 ? "," : "") << text_of(fields[i]);
    out << "\r\n";
  };
  print_line(result.columns, [](const std::string& name) { return csv_field(name); });
  for (const auto& row : result.rows)
    print_line(row, [](const std::optional<std::string>& value) { return value ? csv_field(*value) : std::string(); });
}

void print_json(std::ostream& out, const QueryResult& result) {
  Json rows = Json::array();
  for (const auto& values : result.rows) {
    Json row = Json::array();
    for (const auto& value : values) row.push_back(value ? Json(*value) : Json());
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
    context.out << render_terminal(table_of(result), style);
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
