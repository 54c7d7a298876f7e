#include "backend/fit/table_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/config/text_file.h"

namespace spscope {
namespace {

constexpr std::size_t kMaxTableBytes = std::size_t{64} << 20;
constexpr int kMaxCount = 1'000'000;

int whole_number(std::string_view text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value <= kMaxCount ? value : 0;
}

}  // namespace

std::string TableRow::text(std::string_view column) const {
  const CsvCell* cell = table_.find(row_, column);
  return cell != nullptr ? cell->text : "";
}

int TableRow::count(std::string_view column, int otherwise) const {
  const CsvCell* cell = table_.find(row_, column);
  if (cell == nullptr || cell->text.empty()) return otherwise;
  const int value = whole_number(cell->text);
  if (value < 1) refuse(*cell, column, "is not a whole number of at least 1", "write 1, 2, 4, ...");
  return std::max(value, 1);
}

double TableRow::positive(std::string_view column) const {
  constexpr double kMost = 1e12;
  const CsvCell& cell = *table_.find(row_, column);
  double value = 0;
  const char* end = cell.text.data() + cell.text.size();
  const auto [rest, error] = std::from_chars(cell.text.data(), end, value);
  if (error == std::errc() && rest == end && value > 0 && value < kMost) return value;
  refuse(cell, column, "is not a number above 0", "write a number such as 12.5");
  return 1;
}

std::size_t TableRow::choice(std::string_view column, std::span<const std::string_view> names) const {
  const CsvCell& cell = *table_.find(row_, column);
  const auto found = std::ranges::find(names, cell.text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  refuse(cell, column, "is not known", fmt::format("one of {}", fmt::join(names, ", ")));
  return 0;
}

void TableRow::resolution(int& width, int& height) const {
  const CsvCell& cell = *table_.find(row_, "resolution");
  const std::string_view text = cell.text;
  const std::size_t first = text.find('x'), second = text.find('x', first + 1);
  if (first != text.npos) {
    width = whole_number(text.substr(0, first));
    height = whole_number(text.substr(first + 1, second == text.npos ? text.npos : second - first - 1));
  }
  if (width < 1 || height < 1) refuse(cell, "resolution", "is not a width and a height", "write 1280x720");
}

void TableRow::refuse(const CsvCell& cell, std::string_view column, std::string_view what, std::string hint) const {
  problems_.push_back({ErrorCode::kConfigType, std::string(column),
                       fmt::format("{} \"{}\" {}", column, cell.text, what), std::move(hint), cell.place});
}

Result<CsvTable> read_table(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kMaxTableBytes);
  if (!text) return text.error();
  return parse_csv(*text, path);
}

std::vector<Problem> missing_columns(const CsvTable& table, std::span<const std::string_view> required) {
  std::vector<Problem> problems;
  for (const std::string_view column : required)
    if (std::ranges::find(table.columns, column) == table.columns.end())
      problems.push_back({ErrorCode::kConfigType,
                          std::string(column),
                          fmt::format("the table has no column {}", column),
                          fmt::format("a table needs the columns {}", fmt::join(required, ", ")),
                          {table.file, 1, 1}});
  return problems;
}

}  // namespace spscope
