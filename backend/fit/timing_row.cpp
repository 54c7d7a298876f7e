#include "backend/fit/timing_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "backend/config/text_file.h"

namespace spscope {
namespace {

constexpr std::array<std::string_view, 6> kRequired = {"model", "gpus", "resolution", "scope", "value", "unit"};
constexpr std::size_t kMaxTableBytes = std::size_t{64} << 20;
constexpr int kMaxNumber = 1'000'000;

// The cells of one row, and what is wrong with them.
class RowReader {
 public:
  RowReader(const CsvTable& table, std::size_t row, std::vector<Problem>& problems)
      : table_(table), row_(row), problems_(problems) {}

  std::string text(std::string_view column) const {
    const CsvCell* cell = table_.find(row_, column);
    return cell != nullptr ? cell->text : "";
  }
  int count(std::string_view column, int otherwise) {
    const CsvCell* cell = table_.find(row_, column);
    if (cell == nullptr || cell->text.empty()) return otherwise;
    const int value = whole(cell->text);
    if (value < 1) refuse(*cell, column, "is not a whole number of at least 1", "write 1, 2, 4, ...");
    return std::max(value, 1);
  }
  double positive(std::string_view column) {
    const CsvCell& cell = *table_.find(row_, column);
    double value = 0;
    const char* end = cell.text.data() + cell.text.size();
    const auto [rest, error] = std::from_chars(cell.text.data(), end, value);
    if (error == std::errc() && rest == end && value > 0 && value < 1e12) return value;
    refuse(cell, column, "is not a time above 0", "write a number such as 12.5");
    return 1;
  }
  template <std::size_t n>
  std::size_t choice(std::string_view column, const std::array<std::string_view, n>& names) {
    const CsvCell& cell = *table_.find(row_, column);
    const auto found = std::ranges::find(names, cell.text);
    if (found == names.end()) {
      refuse(cell, column, "is not known", fmt::format("one of {}", fmt::join(names, ", ")));
      return 0;
    }
    return static_cast<std::size_t>(found - names.begin());
  }
  // "1280x720", also with frames behind it.
  void resolution(int& width, int& height) {
    const CsvCell& cell = *table_.find(row_, "resolution");
    const std::string_view text = cell.text;
    const std::size_t first = text.find('x'), second = text.find('x', first + 1);
    if (first != text.npos) {
      width = whole(text.substr(0, first));
      height = whole(text.substr(first + 1, second == text.npos ? text.npos : second - first - 1));
    }
    if (width < 1 || height < 1) refuse(cell, "resolution", "is not a width and a height", "write 1280x720");
  }

 private:
  static int whole(std::string_view text) {
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && rest == text.data() + text.size() && value <= kMaxNumber ? value : 0;
  }
  void refuse(const CsvCell& cell, std::string_view column, std::string_view what, std::string hint) {
    problems_.push_back({ErrorCode::kConfigType, std::string(column),
                         fmt::format("{} \"{}\" {}", column, cell.text, what), std::move(hint), cell.place});
  }

  const CsvTable& table_;
  std::size_t row_;
  std::vector<Problem>& problems_;
};

TimingRow timing_row(const CsvTable& table, std::size_t number, std::vector<Problem>& problems) {
  constexpr std::array<std::string_view, 3> kScopes = {"step", "denoise", "e2e"};
  constexpr std::array<std::string_view, 4> kUnits = {"s", "s/step", "ms", "ms/step"};
  RowReader cells(table, number, problems);
  TimingRow row;
  row.place = table.rows[number].front().place;
  row.id = cells.text("id");
  if (row.id.empty()) row.id = fmt::format("line {}", row.place.line);
  row.source = cells.text("source");
  row.gpu = cells.text("gpu");
  row.interconnect = cells.text("interconnect");
  row.model = cells.text("model");
  row.software = cells.text("software");
  row.other_parallel = cells.text("other_parallel");
  row.implementation = cells.text("implementation");
  row.kernel = cells.text("kernel");
  row.left_out = cells.text("left_out");
  row.gpus = cells.count("gpus", 1);
  row.ulysses = cells.count("ulysses", 1);
  row.ring = cells.count("ring", 1);
  row.cfg_parallel = cells.count("cfg_parallel", 1);
  row.frames = cells.count("frames", 0);
  row.steps = cells.count("steps", 0);
  row.guidance_passes = cells.count("guidance_passes", 0);
  if (row.implementation.empty() && cells.text("compiled") == "no") row.implementation = "eager";
  row.scope = static_cast<TimingScope>(cells.choice("scope", kScopes));
  row.seconds = cells.positive("value") * (cells.choice("unit", kUnits) < 2 ? 1 : 1e-3);
  if (!row.left_out.empty()) return row;
  cells.resolution(row.width, row.height);
  if (row.ulysses * row.ring * row.cfg_parallel != row.gpus)
    problems.push_back({ErrorCode::kConfigType, "gpus",
                        fmt::format("{} GPUs are not ulysses x ring x cfg_parallel = {} x {} x {}", row.gpus,
                                    row.ulysses, row.ring, row.cfg_parallel),
                        "give degrees whose product is gpus, or say in left_out why the row is not used", row.place});
  return row;
}

}  // namespace

Result<std::vector<TimingRow>> timing_rows(const CsvTable& table) {
  std::vector<Problem> problems;
  for (const std::string_view column : kRequired)
    if (std::ranges::find(table.columns, column) == table.columns.end())
      problems.push_back({ErrorCode::kConfigType,
                          std::string(column),
                          fmt::format("the table has no column {}", column),
                          fmt::format("a table needs the columns {}", fmt::join(kRequired, ", ")),
                          {table.file, 1, 1}});
  if (!problems.empty()) return Error(std::move(problems));
  std::vector<TimingRow> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) rows.push_back(timing_row(table, i, problems));
  if (rows.empty()) problems.push_back({ErrorCode::kConfigType, "", "the table has no rows", "", {table.file, 1, 1}});
  if (!problems.empty()) return Error(std::move(problems));
  return rows;
}

Result<std::vector<TimingRow>> read_timing_rows(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kMaxTableBytes);
  if (!text) return text.error();
  const Result<CsvTable> table = parse_csv(*text, path);
  if (!table) return table.error();
  return timing_rows(*table);
}

}  // namespace spscope
