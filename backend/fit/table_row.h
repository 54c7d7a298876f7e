// Rows of tables of measurements: the cells of one row by column, and what is wrong with them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/csv_table.h"
#include "backend/base/error.h"
#include "backend/base/result.h"

namespace spscope {

class TableRow {
 public:
  // `problems` gets those of every cell that cannot be used, with its column and place.
  TableRow(const CsvTable& table, std::size_t row, std::vector<Problem>& problems)
      : table_(table), row_(row), problems_(problems) {}

  const SourcePlace& place() const { return table_.rows[row_].front().place; }
  // "" also where there is no such column.
  std::string text(std::string_view column) const;
  // A whole number of at least 1; `otherwise` of an empty cell, and where there is no such column.
  int count(std::string_view column, int otherwise) const;
  // REQUIRES of the following: the column is there.
  double positive(std::string_view column) const;
  // The number of a name.
  std::size_t choice(std::string_view column, std::span<const std::string_view> names) const;
  // Of the column resolution: "1280x720", also with frames behind it.
  void resolution(int& width, int& height) const;

 private:
  void refuse(const CsvCell& cell, std::string_view column, std::string_view what, std::string hint) const;

  const CsvTable& table_;
  std::size_t row_;
  std::vector<Problem>& problems_;
};

Result<CsvTable> read_table(const std::string& path);

// One for each of these columns that the table lacks.
std::vector<Problem> missing_columns(const CsvTable& table, std::span<const std::string_view> required);

}  // namespace spscope
