#include "backend/report/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "backend/base/check.h"
#include "backend/base/listed.h"
#include "backend/report/format.h"

namespace spscope {

#define SECTION(name, title) void fill_##name(const SectionInput& input, Section& section);
#include "backend/report/sections.def"
#undef SECTION

std::span<const SectionRow> report_sections() {
  static constexpr SectionRow table[] = {
#define SECTION(name, title) {#name, title, fill_##name},
#include "backend/report/sections.def"
#undef SECTION
  };
  return table;
}

Section make_section(std::string_view name, const SectionInput& input) {
  const auto rows = report_sections();
  const auto row = std::ranges::find(rows, name, &SectionRow::name);
  SPSCOPE_CHECK(row != rows.end());
  Section section{std::string(row->name), std::string(row->title), {}};
  row->fill(input, section);
  return section;
}

std::string_view mode_word(RunMode mode) {
  static constexpr std::string_view words[] = {"executed", "projected", "simulated", "observed"};
  return words[static_cast<std::size_t>(mode)];
}

namespace {

// Over how many ranks a strategy shares out heads that they do not divide.
std::set<int> uneven_degrees(const Workload& workload, const StrategyResult& s) {
  std::set<int> uneven;
  const auto add = [&](int degree) {
    if (degree > 1 && workload.heads % degree != 0) uneven.insert(degree);
  };
  for (const RankMesh& mesh : s.meshes) add(mesh.ulysses);
  if (s.legal() && s.name.starts_with("megatron")) add(workload.ranks);
  return uneven;
}

}  // namespace

bool has_uneven_heads(const Workload& workload, const StrategyResult& s) {
  return !uneven_degrees(workload, s).empty();
}

std::vector<std::string> uneven_heads_notes(const Workload& workload,
                                            std::span<const StrategyResult* const> strategies) {
  std::map<int, std::vector<std::string>> labels;  // by degree
  for (const StrategyResult* s : strategies)
    for (const int degree : uneven_degrees(workload, *s)) labels[degree].push_back(s->label);
  std::vector<std::string> notes;
  const auto ranks = [](int count) { return fmt::format("{} rank{}", count, count == 1 ? "" : "s"); };
  for (const auto& [degree, names] : labels) {
    const int more = workload.heads % degree, least = workload.heads / degree;
    notes.push_back(fmt::format(
        "{} give{} {} {} of the {} heads and {} {}, which engines that need equal shares refuse.", listed(names),
        names.size() == 1 ? "s" : "", ranks(more), least + 1, workload.heads, ranks(degree - more), least));
  }
  return notes;
}

std::string range_text(const StrategyResult& s, double passes) {
  if (!s.makespan_low_ns || !s.makespan_high_ns) return "";
  std::string low = duration_text(static_cast<double>(*s.makespan_low_ns) / passes);
  const std::string high = duration_text(static_cast<double>(*s.makespan_high_ns) / passes);
  const std::size_t unit = low.find(' ');
  if (unit != std::string::npos && high.ends_with(low.substr(unit))) low.resize(unit);
  return low + "-" + high;
}

std::optional<double> mean(std::span<const std::int64_t> by_rank) {
  if (by_rank.empty()) return std::nullopt;
  return std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / static_cast<double>(by_rank.size());
}

namespace {

template <typename T>
Slowest slowest_of(const std::vector<T>& by_rank) {
  const auto largest = std::ranges::max_element(by_rank);
  const double mean = std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / static_cast<double>(by_rank.size());
  return {static_cast<int>(largest - by_rank.begin()), 1, 1, mean > 0 ? static_cast<double>(*largest) / mean - 1 : 0};
}

// Whether a cell is empty: a dash, a zero or an empty text.
bool nothing(const Cell& cell) {
  if (cell.hint == Hint::kText) return cell.text.empty() || cell.text == "–";
  return cell.hint != Hint::kVerdict && cell.number.value_or(0) == 0;
}

std::size_t column_at(const Table& table, std::string_view heading) {
  return static_cast<std::size_t>(std::ranges::find(table.columns, heading, &Column::heading) - table.columns.begin());
}

void erase_column(Table& table, std::size_t at) {
  const auto offset = static_cast<std::ptrdiff_t>(at);
  table.columns.erase(table.columns.begin() + offset);
  for (Row& row : table.rows)
    if (at < row.cells.size()) row.cells.erase(row.cells.begin() + offset);
}

}  // namespace

std::optional<Slowest> slowest(const StrategyResult& strategy) {
  std::map<int, int> times;
  double excess = 0;
  int layers = 0;
  for (const LayerResult& layer : strategy.by_layer) {
    if (!layer.slowest_rank) continue;
    ++times[*layer.slowest_rank];
    excess += layer.slowest_excess.value_or(0);
    ++layers;
  }
  if (layers == 0) {
    if (!strategy.times.compute_ns.empty()) return slowest_of(strategy.times.compute_ns);
    if (!strategy.tiles_by_rank.empty()) return slowest_of(strategy.tiles_by_rank);
    return std::nullopt;
  }
  const auto most = std::ranges::max_element(times, {}, &std::pair<const int, int>::second);
  Slowest found{{}, most->second, layers, excess / layers};
  if (2 * most->second > layers) found.rank = most->first;
  return found;
}

std::string slowest_text(const StrategyResult& strategy) {
  const auto found = slowest(strategy);
  if (!found) return "–";
  return found->rank ? fmt::format("rank {}", *found->rank) : "varies";
}

bool shows_in(double part_ns, std::int64_t whole_ns) {
  constexpr double kSeen = 0.005;
  return std::abs(part_ns) >= kSeen * static_cast<double>(whole_ns);
}

std::vector<StackedBars::Part> time_parts(const StrategyResult& strategy) {
  const bool compute = strategy.provenance && strategy.provenance->compute == Source::kModelled;
  const bool network = strategy.provenance && strategy.provenance->network == Source::kModelled;
  std::vector<StackedBars::Part> parts;
  for (const TimePart& part : kTimeParts)
    parts.push_back({part.heading, part.metric, parts.empty() ? compute : network});
  return parts;
}

void drop_empty_columns(Table& table) {
  for (std::size_t c = table.columns.size(); c-- > 1;) {
    const auto empty = [c](const Row& row) { return c >= row.cells.size() || nothing(row.cells[c]); };
    if (std::ranges::all_of(table.rows, empty)) erase_column(table, c);
  }
}

void note_attention_alone(Table& table, const Workload& workload) {
  constexpr std::string_view kHeading = "end to end", kSamples = "samples an hour";
  if (workload.scope != "attention" || column_at(table, kHeading) == table.columns.size()) return;
  const bool samples = column_at(table, kSamples) < table.columns.size();
  table.notes.push_back({fmt::format("End to end{} attention only; run.scope = \"layer\" adds the rest.",
                                     samples ? " and samples an hour count" : " counts"),
                         {std::string(kHeading)}});
}

void drop_column(Table& table, std::string_view heading) {
  if (const std::size_t at = column_at(table, heading); at < table.columns.size()) erase_column(table, at);
}

void drop_if_same(Table& table, std::string_view heading, std::string_view as) {
  const std::size_t at = column_at(table, heading), other = column_at(table, as);
  if (at == table.columns.size() || other == table.columns.size()) return;
  const auto text = [](Cell cell) {
    cell.spread.reset();
    return joined(cell_text(cell));
  };
  const auto same = [&](const Row& row) {
    const std::size_t cells = row.cells.size();
    return (at < cells ? text(row.cells[at]) : "") == (other < cells ? text(row.cells[other]) : "");
  };
  if (std::ranges::all_of(table.rows, same)) erase_column(table, at);
}

}  // namespace spscope
