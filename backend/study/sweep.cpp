#include "backend/study/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "backend/analysis/trust.h"
#include "backend/base/csv_table.h"
#include "backend/config/config_fields.h"
#include "backend/config/config_text.h"
#include "backend/config/text_file.h"
#include "backend/report/section.h"
#include "backend/study/input_hash.h"

namespace spscope {
namespace {

// Columns behind those of the keys. Times are of one layer pass; *_spread is the standard deviation over seeds.
constexpr std::string_view kColumns =
    "strategy,setting,status,seeds,layer_ns,layer_ns_spread,speedup,speedup_spread,end_to_end_ns,samples_per_hour,"
    "imbalance_ratio,bytes_sent_rank,density,uneven_heads,scope,mode,compute,network,rows,config_hash,tool_version";
constexpr std::size_t kNumFields = static_cast<std::size_t>(std::ranges::count(kColumns, ',')) + 1;

// The number of one of them.
consteval std::size_t field(std::string_view name) {
  std::string_view rest = kColumns;
  for (std::size_t number = 0; number < kNumFields; ++number) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == name) return number;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  throw "no column has this name";
}

Problem bad_axis(std::string message, std::string hint) {
  return {ErrorCode::kUsage, "", "--over " + std::move(message), std::move(hint), {}};
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(by, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
  }
  return parts;
}

std::string number(std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : ""; }
std::string whole(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; }

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && std::isfinite(value)))
    return std::nullopt;
  return value;
}

// A figure of a strategy in each seed that has it.
template <typename Figure>
Spread over_seeds(const SeededRuns& runs, std::size_t strategy, Figure&& figure) {
  std::vector<double> values;
  for (const Comparison& c : runs.by_seed)
    if (const std::optional<double> value = figure(c.strategies[strategy])) values.push_back(*value);
  return spread_of(values);
}

// What a figure is of, as far as its jobs agree: "wan2.1-t2v-14b, 4 x h100, whole layers".
std::string common_text(std::span<const Job* const> jobs) {
  const Job& first = *jobs.front();
  const auto agree = [&](auto&& part) {
    return std::ranges::all_of(jobs, [&](const Job* job) { return part(*job) == part(first); });
  };
  const auto model = [](const Job& job) { return job.model.name; };
  const auto cluster = [](const Job& job) { return job.cluster.preset.name; };
  const auto ranks = [](const Job& job) { return job.cluster.ranks; };
  const auto scope = [](const Job& job) { return job.config.run.scope; };
  std::vector<std::string> parts;
  if (agree(model)) parts.emplace_back(first.model.name);
  if (agree(cluster))
    parts.push_back(agree(ranks) ? ranks_on(first.cluster.ranks, first.cluster.preset.name)
                                 : device_name(first.cluster.preset.name));
  if (agree(scope)) parts.emplace_back(first.config.run.scope == RunScope::kLayer ? "whole layers" : "attention");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The first figure of a row that the sweep cannot have written: times, counts and ratios are numbers of at least 0, or
// there is none. nullptr when there is no such figure.
const CsvCell* wrong_figure(std::span<const CsvCell> fields) {
  const bool ran = fields[field("status")].text == "ok";
  for (const std::size_t f : {field("seeds"), field("layer_ns"), field("layer_ns_spread"), field("speedup"),
                              field("speedup_spread"), field("end_to_end_ns"), field("samples_per_hour"),
                              field("imbalance_ratio"), field("bytes_sent_rank"), field("density"), field("rows")}) {
    const bool needed = f == field("seeds") || f == field("rows") || (ran && f == field("layer_ns"));
    if (fields[f].text.empty() ? needed : !number_in(fields[f].text)) return &fields[f];
  }
  return nullptr;
}

// Of a table that is the sweep's own: each row that cannot be read, with its line.
Error damaged_rows(const Error& error) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems)
    problem.hint =
        "delete that line with the others of the same values, which then run again, or begin anew with --force";
  return Error(std::move(problems));
}

}  // namespace

std::vector<SweepAxis> sweep_axes(std::span<const std::string> texts) {
  std::vector<SweepAxis> axes;
  std::vector<Problem> problems;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string key = text.substr(0, equals), list = equals == std::string::npos ? "" : text.substr(equals + 1);
    SweepAxis axis{key, split(list, list.find(';') != std::string::npos ? ';' : ',')};
    const bool is_empty = std::ranges::any_of(axis.values, [](const std::string& v) { return v.empty(); });
    if (key.empty() || is_empty)
      problems.push_back(bad_axis(fmt::format("\"{}\" has not the form KEY=VALUE,VALUE,...", text),
                                  "as --over mask.density=0.1,0.2; values with commas are divided by semicolons"));
    else if (std::set<std::string>(axis.values.begin(), axis.values.end()).size() < axis.values.size())
      problems.push_back(bad_axis(fmt::format("{} has a value twice", key), "give each value once"));
    else if (std::ranges::find(axes, key, &SweepAxis::key) != axes.end())
      problems.push_back(bad_axis(fmt::format("{} is given twice", key), "give all its values at once"));
    if (const FieldRow* row = find_field(key); row != nullptr && row->role == FieldRole::kOutputPath)
      problems.push_back(bad_axis(fmt::format("{} says where files go, and no result depends on it", key),
                                  "sweep a key of the workload or the cluster; -o names the table, and --set "
                                  "run.scratch=FOLDER holds for every combination"));
    axes.push_back(std::move(axis));
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return axes;
}

std::vector<SweepCell> sweep_cells(const JobFlags& flags, std::span<const SweepAxis> axes, int seeds,
                                   std::int64_t max_memory_bytes) {
  std::vector<std::vector<std::string>> combinations = {{}};
  for (const SweepAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& values : combinations)
      for (const std::string& value : axis.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    combinations = std::move(longer);
  }
  std::vector<SweepCell> cells;
  for (std::vector<std::string>& values : combinations) {
    JobFlags with = flags;
    for (std::size_t i = 0; i < axes.size(); ++i) with.settings.push_back(fmt::format("{}={}", axes[i].key, values[i]));
    Job job = load_job(with, max_memory_bytes);
    const int useful = useful_seeds(job, seeds);
    std::string hash = config_hash(job.config);
    if (const std::string inputs = input_hash(job.config); !inputs.empty()) hash += "-" + inputs;
    cells.push_back({std::move(values), std::move(job), useful, std::move(hash)});
  }
  return cells;
}

SweepTable::SweepTable(std::span<const SweepAxis> axes, std::string tool_version)
    : tool_version_(std::move(tool_version)) {
  for (const SweepAxis& axis : axes) keys_.push_back(axis.key);
}

std::string SweepTable::key_of(const SweepCell& cell) const {
  return fmt::format("{} {} {} {}", fmt::join(cell.values, " "), cell.hash, cell.seeds, tool_version_);
}

std::string SweepTable::header() const {
  std::string text;
  for (const std::string& key : keys_) text += csv_quoted(key) + ',';
  return text + fmt::format("{}\n", kColumns);
}

void SweepTable::resume(const std::string& path, std::span<const SweepCell> cells) {
  if (!std::filesystem::exists(path)) return;
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const Result<std::string> text = read_text_file(path, kMostBytes);
  if (!text) throw text.error();
  // A last line without an end was cut.
  const Result<CsvTable> table = parse_csv(std::string_view(*text).substr(0, text->rfind('\n') + 1), path);
  if (!table && text->starts_with(header())) throw damaged_rows(table.error());
  const std::vector<std::string> wanted = parse_csv(header(), path)->columns;
  if (!table || table->columns != wanted)
    throw Error(ErrorCode::kUsage,
                fmt::format("\"{}\" is not the table of a sweep over {}", path, fmt::join(keys_, ", ")),
                "name another file, or begin anew with --force");
  std::vector<Problem> problems;
  for (const std::vector<CsvCell>& cells_of_row : table->rows) {
    if (const CsvCell* wrong = wrong_figure(std::span(cells_of_row).subspan(keys_.size())))
      problems.push_back({ErrorCode::kUsage, "", fmt::format("\"{}\" is no figure that a sweep writes", wrong->text),
                          "", wrong->place});
    std::vector<std::string> row;
    for (const CsvCell& cell : cells_of_row) row.push_back(cell.text);
    const auto column = [&](std::size_t c) { return row[keys_.size() + c]; };
    const std::vector<std::string> values(row.begin(), row.begin() + std::ssize(keys_));
    const std::string key = fmt::format("{} {} {} {}", fmt::join(values, " "), column(field("config_hash")),
                                        column(field("seeds")), column(field("tool_version")));
    if (std::ranges::any_of(cells, [&](const SweepCell& cell) { return key_of(cell) == key; }))
      rows_[key].push_back(std::move(row));
  }
  if (!problems.empty()) throw damaged_rows(Error(std::move(problems)));
  // A cell that has lost a row, or has one twice, runs again.
  std::erase_if(rows_, [&](const auto& cell) {
    std::set<std::string> strategies;
    for (const std::vector<std::string>& row : cell.second) strategies.insert(row[keys_.size() + field("strategy")]);
    const std::string rows = cell.second.front()[keys_.size() + field("rows")];
    return strategies.size() != cell.second.size() || rows != std::to_string(cell.second.size());
  });
}

void SweepTable::add(const SweepCell& cell, const SeededRuns& runs) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t s = 0; s < runs.together.strategies.size(); ++s) {
    const StrategyResult& result = runs.together.strategies[s];
    std::vector<std::string> row(kNumFields);
    row[field("strategy")] = result.id;
    row[field("setting")] = result.label;
    row[field("status")] = result.legal() ? "ok" : "cannot run: " + result.reason();
    row[field("seeds")] = std::to_string(cell.seeds);
    row[field("rows")] = std::to_string(runs.together.strategies.size());
    row[field("scope")] = runs.together.workload.scope;
    row[field("mode")] = choice_name(result.mode);
    row[field("config_hash")] = cell.hash;
    row[field("tool_version")] = tool_version_;
    row[field("density")] = number(runs.together.workload.density);
    if (result.legal()) row[field("uneven_heads")] = has_uneven_heads(runs.together.workload, result) ? "yes" : "no";
    if (result.provenance) {
      row[field("compute")] = source_name(result.provenance->compute);
      row[field("network")] = source_name(result.provenance->network);
    }
    const Spread time = over_seeds(runs, s, [](const StrategyResult& r) { return r.layer_pass_ns(); });
    const Spread speedup = over_seeds(runs, s, [](const StrategyResult& r) { return r.speedup; });
    if (time.count > 0)
      row[field("layer_ns")] = whole(time.mean), row[field("layer_ns_spread")] = whole(time.deviation);
    if (speedup.count > 0)
      row[field("speedup")] = number(speedup.mean), row[field("speedup_spread")] = number(speedup.deviation);
    row[field("end_to_end_ns")] = result.end_to_end_ns ? std::to_string(*result.end_to_end_ns) : "";
    row[field("samples_per_hour")] = number(result.samples_per_hour);
    row[field("imbalance_ratio")] = number(result.imbalance_ratio);
    if (const std::optional<double> bytes = mean(result.bytes_sent); bytes && !result.by_layer.empty())
      row[field("bytes_sent_rank")] = whole(*bytes / static_cast<double>(result.by_layer.size()));
    row.insert(row.begin(), cell.values.begin(), cell.values.end());
    rows.push_back(std::move(row));
  }
  rows_.insert_or_assign(key_of(cell), std::move(rows));
}

std::string SweepTable::csv(std::span<const SweepCell> cells) const {
  std::string text = header();
  for (const SweepCell& cell : cells) {
    const auto found = rows_.find(key_of(cell));
    if (found == rows_.end()) continue;
    for (const std::vector<std::string>& row : found->second)
      for (std::size_t i = 0; i < row.size(); ++i) text += csv_quoted(row[i]) + (i + 1 < row.size() ? ',' : '\n');
  }
  return text;
}

std::map<std::string, std::string> SweepTable::figures(std::span<const SweepAxis> axes,
                                                       std::span<const SweepCell> cells) const {
  std::map<std::string, LineChart> charts;  // by what the other axes are
  std::map<std::string, std::vector<const Job*>> jobs;
  const auto several = std::ranges::find_if(axes, [](const SweepAxis& a) { return a.values.size() > 1; });
  const auto x = static_cast<std::size_t>((several == axes.end() ? axes.begin() : several) - axes.begin());
  for (const SweepCell& cell : cells) {
    const auto found = rows_.find(key_of(cell));
    if (found == rows_.end()) continue;
    std::string others;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (i != x) others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", keys_[i], cell.values[i]);
    LineChart& chart = charts[others];
    jobs[others].push_back(&cell.job);
    if (chart.x.empty())
      chart = {
          others.empty() ? "Time of a layer" : "Time of a layer, " + others, "", keys_[x], "ms", axes[x].values, {}};
    const auto point =
        static_cast<std::size_t>(std::ranges::find(axes[x].values, cell.values[x]) - axes[x].values.begin());
    for (const std::vector<std::string>& row : found->second) {
      const auto column = [&](std::size_t c) { return row[keys_.size() + c]; };
      const std::optional<double> ns = number_in(column(field("layer_ns")));
      if (!ns) continue;  // one that cannot run has no line
      auto series = std::ranges::find(chart.series, column(field("strategy")), &LineChart::Series::name);
      if (series == chart.series.end()) {
        chart.series.push_back({column(field("strategy")), {}, {}});
        series = chart.series.end() - 1;
        series->y.resize(chart.x.size());
        series->spread.resize(chart.x.size());
      }
      series->y[point] = *ns * 1e-6;
      series->spread[point] = number_in(column(field("layer_ns_spread"))).value_or(0) * 1e-6;
    }
  }
  std::map<std::string, std::string> files;
  for (auto& [others, chart] : charts) chart.subtitle = common_text(jobs.at(others));
  for (const auto& [others, chart] : charts) files[svg_file_name("sweep " + keys_[x] + " " + others)] = svg_of(chart);
  return files;
}

}  // namespace spscope
