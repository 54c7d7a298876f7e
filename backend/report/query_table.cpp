#include "backend/report/query_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/base/utf8.h"

namespace spscope {
namespace {

std::string shortened(const std::string& value) {
  constexpr std::size_t kMaxBytes = 400;
  if (value.size() <= kMaxBytes) return value;
  return fmt::format("{}... ({} bytes)", first_characters(value, kMaxBytes), value.size());
}

Cell cell_of(const std::optional<std::string>& value, ValueKind kind, ValueTexts texts) {
  Cell cell = text_cell(value.value_or("NULL"));
  double number = 0;
  if (value && kind != ValueKind::kText &&
      std::from_chars(value->data(), value->data() + value->size(), number).ec == std::errc())
    cell.number = number;
  if (texts == ValueTexts::kWhole) return cell;
  cell.text = kind == ValueKind::kReal && cell.number ? fmt::format("{:.15g}", number) : shortened(cell.text);
  return cell;
}

}  // namespace

Table query_table(const QueryResult& result, ValueTexts texts) {
  Table table;
  for (std::size_t c = 0; c < result.columns.size(); ++c) {
    const bool numbers =
        std::ranges::none_of(result.kinds, [c](const auto& row) { return row[c] == ValueKind::kText; });
    table.columns.push_back({result.columns[c], "", !numbers});
  }
  table.rows.reserve(result.rows.size());
  for (std::size_t r = 0; r < result.rows.size(); ++r) {
    Row& row = table.rows.emplace_back();
    row.cells.reserve(result.columns.size());
    for (std::size_t c = 0; c < result.columns.size(); ++c)
      row.cells.push_back(cell_of(result.rows[r][c], result.kinds[r][c], texts));
  }
  return table;
}

}  // namespace spscope
