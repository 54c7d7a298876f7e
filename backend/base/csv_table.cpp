#include "backend/base/csv_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace spscope {
namespace {

// Reads one cell after the other; `position` and the places count bytes.
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool at_end() const { return next_ == text_.size(); }
  bool unclosed() const { return unclosed_; }

  std::vector<CsvCell> line() {
    std::vector<CsvCell> cells;
    while (true) {
      cells.push_back(cell());
      if (at_end()) return cells;
      const char end = take();
      if (end == '\n') return cells;
    }
  }

 private:
  char take() {
    const char c = text_[next_++];
    column_ = c == '\n' ? 1 : column_ + 1;
    if (c == '\n') ++line_;
    return c;
  }
  bool ends_cell() const { return at_end() || text_[next_] == ',' || text_[next_] == '\n'; }

  CsvCell cell() {
    CsvCell cell{"", {std::string(file_), line_, column_}};
    if (!at_end() && text_[next_] == '"') {
      take();
      quoted(cell.text);
    }
    while (!ends_cell()) cell.text += take();
    if (cell.text.ends_with('\r')) cell.text.pop_back();
    return cell;
  }
  void quoted(std::string& text) {
    while (!at_end()) {
      const char c = take();
      if (c != '"') {
        text += c;
      } else if (!at_end() && text_[next_] == '"') {
        text += take();
      } else {
        return;
      }
    }
    unclosed_ = true;
  }

  std::string_view text_, file_;
  std::size_t next_ = 0;
  int line_ = 1, column_ = 1;
  bool unclosed_ = false;
};

Problem fault(const CsvCell& cell, std::string message, std::string hint) {
  return {ErrorCode::kConfigType, cell.text, std::move(message), std::move(hint), cell.place};
}

}  // namespace

const CsvCell* CsvTable::find(std::size_t row, std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  return found == columns.end() ? nullptr : &rows[row][static_cast<std::size_t>(found - columns.begin())];
}

Result<CsvTable> parse_csv(std::string_view text, std::string_view file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  CsvReader reader(text, file);
  CsvTable table{std::string(file), {}, {}};
  std::vector<Problem> problems;
  while (!reader.at_end()) {
    std::vector<CsvCell> cells = reader.line();
    if (cells.size() == 1 && cells.front().text.empty()) continue;
    if (table.columns.empty()) {
      for (CsvCell& cell : cells) {
        if (std::ranges::find(table.columns, cell.text) != table.columns.end())
          problems.push_back(fault(cell, fmt::format("the column {} is there twice", cell.text), "remove one"));
        table.columns.push_back(std::move(cell.text));
      }
      continue;
    }
    if (cells.size() != table.columns.size())
      problems.push_back(fault(cells.front(),
                               fmt::format("the row has {} cells, the header {}", cells.size(), table.columns.size()),
                               "give every row as many cells as the header, empty ones too; put text with commas in "
                               "double quotes"));
    table.rows.push_back(std::move(cells));
  }
  if (reader.unclosed())
    problems.push_back({ErrorCode::kConfigType,
                        "",
                        "a double quote is never closed",
                        "close it, or double it inside a cell",
                        {std::string(file), 0, 0}});
  if (table.columns.empty())
    problems.push_back({ErrorCode::kConfigType,
                        "",
                        "the file has no header",
                        "the first line names the columns",
                        {std::string(file), 1, 1}});
  if (!problems.empty()) return Error(std::move(problems));
  return table;
}

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_field(std::string_view text) {
  if (text.empty()) return "\"\"";
  return csv_quoted((std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos ? "'" : "") +
                    std::string(text));
}

}  // namespace spscope
