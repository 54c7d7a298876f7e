#include "backend/fit/timing_row.h"

#include <fmt/format.h>

#include <array>

#include "backend/fit/table_row.h"

namespace spscope {
namespace {

constexpr std::array<std::string_view, 6> kRequired = {"model", "gpus", "resolution", "scope", "value", "unit"};

TimingRow timing_row(const CsvTable& table, std::size_t number, std::vector<Problem>& problems) {
  constexpr std::array<std::string_view, 3> kScopes = {"step", "denoise", "e2e"};
  constexpr std::array<std::string_view, 4> kUnits = {"s", "s/step", "ms", "ms/step"};
  const TableRow cells(table, number, problems);
  TimingRow row = run_of(cells);
  if (row.id.empty()) row.id = fmt::format("line {}", row.place.line);
  row.interconnect = cells.text("interconnect");
  row.other_parallel = cells.text("other_parallel");
  row.kernel = cells.text("kernel");
  row.cfg_parallel = cells.count("cfg_parallel", 1);
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

TimingRow run_of(const TableRow& cells) {
  TimingRow row;
  row.place = cells.place();
  row.id = cells.text("id");
  row.source = cells.text("source");
  row.gpu = cells.text("gpu");
  row.model = cells.text("model");
  row.software = cells.text("software");
  row.implementation = cells.text("implementation");
  row.left_out = cells.text("left_out");
  row.gpus = cells.count("gpus", 1);
  row.ulysses = cells.count("ulysses", 1);
  row.ring = cells.count("ring", 1);
  row.frames = cells.count("frames", 0);
  return row;
}

Result<std::vector<TimingRow>> timing_rows(const CsvTable& table) {
  std::vector<Problem> problems = missing_columns(table, kRequired);
  if (!problems.empty()) return Error(std::move(problems));
  std::vector<TimingRow> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) rows.push_back(timing_row(table, i, problems));
  if (rows.empty()) problems.push_back({ErrorCode::kConfigType, "", "the table has no rows", "", {table.file, 1, 1}});
  if (!problems.empty()) return Error(std::move(problems));
  return rows;
}

Result<std::vector<TimingRow>> read_timing_rows(const std::string& path) {
  const Result<CsvTable> table = read_table(path);
  if (!table) return table.error();
  return timing_rows(*table);
}

}  // namespace spscope
