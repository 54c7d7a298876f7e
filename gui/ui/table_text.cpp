// The order of a table's rows, and its text for other programs.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/csv_table.h"
#include "backend/base/json.h"
#include "backend/base/letter_case.h"
#include "backend/report/format.h"
#include "gui/ui/table_view.h"

namespace spscope::gui {
namespace {

const Cell& cell_of(const Table& table, int row, int column) {
  static const Cell kNothing;
  const std::vector<Cell>& cells = table.rows[static_cast<std::size_t>(row)].cells;
  return static_cast<std::size_t>(column) < cells.size() ? cells[static_cast<std::size_t>(column)] : kNothing;
}

std::string_view unit_of(Hint hint) {
  switch (hint) {
    case Hint::kDuration:
      return "_ns";
    case Hint::kBytes:
    case Hint::kMemory:
      return "_bytes";
    default:
      return "";
  }
}

// Numbers as they are, everything else as text.
Json value_of(const Cell& cell) {
  if (cell.hint == Hint::kText || cell.hint == Hint::kVerdict) return cell.text;
  return cell.number ? Json(*cell.number) : Json();
}

std::string plain_value(const Cell& cell) {
  const Json value = value_of(cell);
  return value.is_text() ? value.text() : value.is_null() ? "" : value.dump();
}

// The unit belongs to the heading where any cell of the column has one.
std::string heading_with_unit(const Table& table, int column) {
  std::string heading = table.columns[static_cast<std::size_t>(column)].heading;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    if (const auto unit = unit_of(cell_of(table, static_cast<int>(row), column).hint); !unit.empty())
      return heading + std::string(unit);
  return heading;
}

std::string separated(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns,
                      char separator) {
  std::string out;
  const auto line = [&](auto&& text_of) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += separator;
      out += text_of(columns[i]);
    }
    out += '\n';
  };
  const bool csv = separator == ',';
  line([&](int c) {
    return csv ? csv_quoted(heading_with_unit(table, c)) : table.columns[static_cast<std::size_t>(c)].heading;
  });
  for (const int row : rows)
    line([&](int c) {
      const Cell& cell = cell_of(table, row, c);
      if (csv) return csv_quoted(plain_value(cell));
      std::string text = joined(cell_text(cell));
      std::ranges::replace_if(
          text, [](char x) { return x == '\t' || x == '\n'; }, ' ');
      return text;
    });
  return out;
}

std::string markdown(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns) {
  std::string out = "|", rule = "|";
  const auto escaped = [](const std::string& text) {
    std::string safe;
    for (const char c : text) safe += c == '|' ? std::string("\\|") : std::string(1, c == '\n' ? ' ' : c);
    return safe;
  };
  for (const int c : columns) {
    const Column& column = table.columns[static_cast<std::size_t>(c)];
    out += fmt::format(" {} |", escaped(column.heading));
    rule += column.left ? " --- |" : " ---: |";
  }
  out += "\n" + rule + "\n";
  for (const int row : rows) {
    out += '|';
    for (const int c : columns) out += fmt::format(" {} |", escaped(joined(cell_text(cell_of(table, row, c)))));
    out += '\n';
  }
  return out;
}

std::string json(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns) {
  Json list = Json::array();
  for (const int row : rows) {
    Json object = Json::object();
    for (const int c : columns) object[heading_with_unit(table, c)] = value_of(cell_of(table, row, c));
    list.push_back(std::move(object));
  }
  return list.dump(2) + "\n";
}

}  // namespace

std::string copied_text(const Table& table, const std::vector<int>& rows, const std::vector<int>& columns,
                        CopyFormat format) {
  switch (format) {
    case CopyFormat::kTsv:
      return separated(table, rows, columns, '\t');
    case CopyFormat::kCsv:
      return separated(table, rows, columns, ',');
    case CopyFormat::kMarkdown:
      return markdown(table, rows, columns);
    case CopyFormat::kJson:
      return json(table, rows, columns);
  }
  return {};
}

std::vector<int> sorted_rows(const Table& table, std::vector<int> rows, int column, bool descending) {
  if (column < 0 || column >= static_cast<int>(table.columns.size())) return rows;
  const auto before = [&](int a, int b) {
    const Cell &x = cell_of(table, a, column), &y = cell_of(table, b, column);
    // Texts that read as numbers sort as those: answers of SQL.
    const bool numbers = x.hint != Hint::kText || y.hint != Hint::kText || x.number || y.number;
    if (numbers) {
      if (x.number.has_value() != y.number.has_value()) return x.number.has_value();
      if (!x.number) return false;
      return descending ? *x.number > *y.number : *x.number < *y.number;
    }
    if (x.text.empty() != y.text.empty()) return y.text.empty();
    return descending ? x.text > y.text : x.text < y.text;
  };
  std::ranges::stable_sort(rows, before);
  return rows;
}

std::vector<int> filtered_rows(const Table& table, const std::string& filter, const CancelToken& cancelled) {
  std::vector<std::string> words;
  for (const char c : lower_case(filter)) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      if (words.empty()) words.emplace_back();
      words.back() += c;
    }
  }
  std::erase(words, "");
  std::vector<int> rows;
  for (int row = 0; row < static_cast<int>(table.rows.size()); ++row) {
    constexpr int kRowsAtOnce = 1024;
    if (row % kRowsAtOnce == 0) cancelled.require_going();
    std::string all;
    if (!words.empty())
      for (const Cell& cell : table.rows[static_cast<std::size_t>(row)].cells)
        all += lower_case(joined(cell_text(cell))) + '\n';
    if (std::ranges::all_of(words, [&](const std::string& word) { return all.find(word) != std::string::npos; }))
      rows.push_back(row);
  }
  return rows;
}

}  // namespace spscope::gui
