// Balance: how evenly the work is spread, by three ratios that are never mixed, and what each rank did with its time.
#include <fmt/format.h>

#include <algorithm>

#include "backend/report/section.h"

namespace spscope {
namespace {

Table ratio_table(const ModeGroup& group) {
  Table table;
  table.columns = {{"strategy", "", true},
                   {"imbalance", "imbalance_ratio"},
                   {"barrier", "barrier_imbalance_ratio"},
                   {"coupled", "coupled_imbalance_ratio"},
                   {"planned", "planned_imbalance_ratio"},
                   {"tiles", "tiles"},
                   {"redundant", "tiles"},
                   {"moved", "moved_fraction"},
                   {"re-plans", "replans"}};
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal) continue;
    table.rows.push_back(
        {{text_cell(s->label), cell(Hint::kRatio, s->imbalance_ratio), cell(Hint::kRatio, s->barrier_imbalance_ratio),
          cell(Hint::kRatio, s->coupled_imbalance_ratio), cell(Hint::kRatio, s->planned_imbalance_ratio),
          cell(Hint::kCount, s->tiles), cell(Hint::kCount, s->tiles_redundant), cell(Hint::kPercent, s->moved_fraction),
          cell(Hint::kCount, s->replans)}});
  }
  return table;
}

Table slowest_table(const ModeGroup& group) {
  Table table;
  table.caption = "The rank that computes longest";
  table.columns = {{"strategy", "", true},
                   {"rank"},
                   {"its compute", "compute"},
                   {"mean compute", "compute"},
                   {"mean late peer", "wait_late_peer"},
                   {"longest late peer", "wait_late_peer"},
                   {"attention", "attention"}};
  for (const StrategyResult* s : group.strategies) {
    if (s->times.compute_ns.empty()) continue;
    const int rank = *slowest_rank(*s);
    const auto longest_wait = *std::ranges::max_element(s->times.wait_late_peer_ns);
    table.rows.push_back(
        {{text_cell(s->label), cell(Hint::kCount, rank),
          duration_cell(s->times.compute_ns[static_cast<std::size_t>(rank)]),
          cell(Hint::kDuration, mean(s->times.compute_ns)), cell(Hint::kDuration, mean(s->times.wait_late_peer_ns)),
          duration_cell(longest_wait), duration_cell(s->attention_ns)}});
  }
  return table;
}

// One chart a strategy, all of a mode on one scale.
void add_rank_charts(const ModeGroup& group, Section& section) {
  std::int64_t longest_ns = 0;
  for (const StrategyResult* s : group.strategies) longest_ns = std::max(longest_ns, s->makespan_ns.value_or(0));
  for (const StrategyResult* s : group.strategies) {
    const RankTimes& t = s->times;
    if (t.compute_ns.empty()) continue;
    StackedBars chart;
    chart.caption = s->label;
    chart.by_rank = true;
    chart.scale_ns = static_cast<double>(longest_ns);
    chart.parts = {{"compute", "compute", s->provenance && s->provenance->compute == Source::kModelled},
                   {"late peer", "wait_late_peer", false},
                   {"wire", "wire", s->provenance && s->provenance->network == Source::kModelled},
                   {"other", "other", false}};
    for (std::size_t r = 0; r < t.compute_ns.size(); ++r)
      chart.bars.push_back({fmt::format("rank {}", r),
                            {static_cast<double>(t.compute_ns[r]), static_cast<double>(t.wait_late_peer_ns[r]),
                             static_cast<double>(t.wire_ns[r]), static_cast<double>(t.other_ns[r])}});
    section.blocks.push_back(std::move(chart));
  }
}

// Several layers or denoise steps: which of them is uneven.
void add_layers(const ModeGroup& group, Section& section) {
  constexpr std::size_t kMostRows = 64;  // a whole run of 50 steps x 40 layers is for SQL
  for (const StrategyResult* s : group.strategies) {
    if (s->by_layer.size() < 2) continue;
    Table table;
    table.caption = s->label + " by layer and denoise step";
    table.columns = {{"denoise step"},
                     {"layer"},
                     {"makespan", "makespan"},
                     {"density", "density"},
                     {"imbalance", "imbalance_ratio"},
                     {"coupled", "coupled_imbalance_ratio"}};
    for (const LayerResult& layer : s->by_layer) {
      if (table.rows.size() == kMostRows) break;
      table.rows.push_back(
          {{cell(Hint::kCount, layer.denoise_step), cell(Hint::kCount, layer.layer), duration_cell(layer.makespan_ns),
            cell(Hint::kPercent, layer.density), cell(Hint::kRatio, layer.imbalance_ratio),
            cell(Hint::kRatio, layer.coupled_imbalance_ratio)}});
    }
    if (s->by_layer.size() > kMostRows)
      table.caption += fmt::format(" (the first {} of {})", kMostRows, s->by_layer.size());
    section.blocks.push_back(std::move(table));
  }
}

}  // namespace

void fill_balance(const Comparison& comparison, Section& section) {
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    if (groups.size() > 1) section.blocks.push_back(Paragraph{std::string(mode_word(group.mode)), Tone::kNote});
    if (Table table = ratio_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
    if (Table table = slowest_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
    add_rank_charts(group, section);
    add_layers(group, section);
  }
}

}  // namespace spscope
