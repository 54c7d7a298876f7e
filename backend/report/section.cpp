#include "backend/report/section.h"

#include <algorithm>
#include <numeric>

#include "backend/base/check.h"

namespace spscope {

#define SECTION(name, title) void fill_##name(const Comparison& comparison, Section& section);
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

Section make_section(std::string_view name, const Comparison& comparison) {
  const auto rows = report_sections();
  const auto row = std::ranges::find(rows, name, &SectionRow::name);
  SPSCOPE_CHECK(row != rows.end());
  Section section{std::string(row->name), std::string(row->title), {}};
  row->fill(comparison, section);
  return section;
}

std::vector<ModeGroup> by_mode(const Comparison& comparison) {
  std::vector<ModeGroup> groups;
  for (const StrategyResult& strategy : comparison.strategies) {
    auto group = std::ranges::find(groups, strategy.mode, &ModeGroup::mode);
    if (group == groups.end()) group = groups.insert(groups.end(), {strategy.mode, {}});
    group->strategies.push_back(&strategy);
  }
  return groups;
}

std::string_view mode_word(RunMode mode) {
  static constexpr std::string_view words[] = {"executed", "projected", "simulated"};
  return words[static_cast<std::size_t>(mode)];
}

std::optional<double> mean(std::span<const std::int64_t> by_rank) {
  if (by_rank.empty()) return std::nullopt;
  return std::accumulate(by_rank.begin(), by_rank.end(), 0.0) / static_cast<double>(by_rank.size());
}

std::optional<int> slowest_rank(const StrategyResult& strategy) {
  const auto rank_of_largest = [](const auto& list) {
    return static_cast<int>(std::ranges::max_element(list) - list.begin());
  };
  if (!strategy.times.compute_ns.empty()) return rank_of_largest(strategy.times.compute_ns);
  if (!strategy.tiles_by_rank.empty()) return rank_of_largest(strategy.tiles_by_rank);
  return std::nullopt;
}

bool oversubscribed(const StrategyResult& strategy) {
  return strategy.provenance && strategy.provenance->timing == Timing::kOversubscribed;
}

const StrategyResult* fastest(const ModeGroup& group) {
  const StrategyResult* best = nullptr;
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal || !s->makespan_ns || s->verify == "failed" || oversubscribed(*s)) continue;
    if (!best || *s->makespan_ns < *best->makespan_ns) best = s;
  }
  return best;
}

}  // namespace spscope
