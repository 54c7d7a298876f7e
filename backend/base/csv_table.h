// CSV text as RFC 4180 has it: read with a header and the line and column of every cell, as tables of measurements are
// published, and the cells of what is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/result.h"

namespace spscope {

struct CsvCell {
  std::string text;
  SourcePlace place;
};

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<std::vector<CsvCell>> rows;  // each as wide as the header

  // nullptr when there is no such column.
  const CsvCell* find(std::size_t row, std::string_view column) const;
};

// Quoted cells may hold commas, line breaks and doubled quotes; blank lines are skipped. The error holds every row that
// is not as wide as the header, a column that is there twice and a quote that is never closed. `file` names the text.
Result<CsvTable> parse_csv(std::string_view text, std::string_view file);

// The text of a cell, in quotes where it has a comma, a quote or a line break.
std::string csv_quoted(std::string_view text);
// The same for a text that anybody may have written: what a spreadsheet would calculate gets an apostrophe in front,
// which it takes for "this is text" (OWASP, CSV injection). An empty text is quoted, since NULL is written as nothing.
std::string csv_field(std::string_view text);

}  // namespace spscope
