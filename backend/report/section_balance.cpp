// Balance: how evenly the work is spread, by three separate ratios, and the time of each rank by activity.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "backend/base/listed.h"
#include "backend/report/format.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

Table ratio_table(const ModeGroup& group) {
  Table table;
  table.columns = {text_column("strategy"),
                   {"imbalance", "imbalance_ratio"},
                   {"barrier", "barrier_imbalance_ratio"},
                   {"coupled", "coupled_imbalance_ratio"},
                   {"planned", "planned_imbalance_ratio"},
                   {"tiles", "tiles"},
                   {"redundant", "tiles"},
                   {"reordered", "moved_fraction"},
                   {"re-plans", "replans"}};
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    table.rows.push_back(
        {{text_cell(s->label), cell(Hint::kRatio, s->imbalance_ratio), cell(Hint::kRatio, s->barrier_imbalance_ratio),
          cell(Hint::kRatio, s->coupled_imbalance_ratio), cell(Hint::kRatio, s->planned_imbalance_ratio),
          cell(Hint::kCount, s->tiles), cell(Hint::kCount, s->tiles_redundant), cell(Hint::kPercent, s->moved_fraction),
          cell(Hint::kCount, s->replans)}});
  }
  drop_if_same(table, "planned", "imbalance");
  drop_empty_columns(table);
  return table;
}

Table slowest_table(const ModeGroup& group) {
  Table table;
  table.caption =
      "The rank that computes longest. Above the mean: an average over layer passes. Times: sums over layer passes";
  table.columns = {text_column("strategy"),
                   {"rank", "compute"},
                   {"above the mean", "compute"},
                   {"mean compute", "compute"},
                   {"longest late peer", "wait_late_peer"},
                   {"attention", "attention"}};
  for (const StrategyResult* s : group.strategies) {
    if (s->times.compute_ns.empty()) continue;
    const std::optional<Slowest> slow = slowest(*s);
    table.rows.push_back(
        {{text_cell(s->label), text_cell(slowest_text(*s)),
          cell(Hint::kPercent, slow ? std::optional(slow->excess) : std::nullopt),
          cell(Hint::kDuration, mean(s->times.compute_ns)),
          duration_cell(*std::ranges::max_element(s->times.wait_late_peer_ns)), duration_cell(s->attention_ns)}});
  }
  drop_empty_columns(table);
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
    chart.parts = time_parts(*s);
    for (std::size_t r = 0; r < t.compute_ns.size(); ++r) {
      chart.bars.push_back({fmt::format("rank {}", r), {}, {.strategy = s->id, .rank = static_cast<int>(r)}});
      for (const TimePart& part : kTimeParts)
        chart.bars.back().parts_ns.push_back(static_cast<double>((t.*part.by_rank)[r]));
    }
    section.blocks.push_back(std::move(chart));
  }
}

// Planned and actual imbalance of a strategy in each denoise step, means over the layers of the step.
struct StepBalance {
  double planned = 0, actual = 0;
  int known = 0, layers = 0, decided = 0;
  std::int64_t makespan_ns = 0;
};

std::map<int, StepBalance> by_step(const StrategyResult& s) {
  std::map<int, StepBalance> steps;
  for (const LayerResult& layer : s.by_layer) {
    StepBalance& step = steps[layer.denoise_step];
    ++step.layers;
    step.actual += layer.imbalance_ratio.value_or(1);
    step.decided += layer.decided.value_or(false);
    step.makespan_ns += layer.makespan_ns.value_or(0);
    if (layer.planned_imbalance_ratio) step.planned += *layer.planned_imbalance_ratio, ++step.known;
  }
  return steps;
}

const char* division_of(const StepBalance& step) {
  if (step.decided > 0) return "made anew";
  return step.known > 0 ? "kept" : "even, nothing known";
}

// For a strategy that keeps its decisions over denoise steps: when it decided anew, and the imbalance in between.
void add_steps(const StrategyResult& s, Section& section) {
  constexpr std::size_t kMostRows = 64;
  const std::map<int, StepBalance> steps = by_step(s);
  if (steps.size() < 2 || !s.replans) return;
  Table table;
  table.caption = s.label + " by denoise step";
  table.columns = {{"denoise step"},
                   {"division"},
                   {"planned imbalance", "planned_imbalance_ratio"},
                   {"actual imbalance", "imbalance_ratio"},
                   {"makespan", "makespan"}};
  for (const auto& [number, step] : steps) {
    if (table.rows.size() == kMostRows) break;
    const std::optional<double> planned = step.known > 0 ? std::optional(step.planned / step.known) : std::nullopt;
    const std::optional<std::int64_t> makespan = step.makespan_ns > 0 ? std::optional(step.makespan_ns) : std::nullopt;
    table.rows.push_back({{cell(Hint::kCount, number), text_cell(division_of(step)), cell(Hint::kRatio, planned),
                           cell(Hint::kRatio, step.actual / step.layers), duration_cell(makespan)}});
  }
  if (steps.size() > kMostRows) table.caption += fmt::format(" (the first {} of {})", kMostRows, steps.size());
  drop_empty_columns(table);
  section.blocks.push_back(std::move(table));
}

// "u4 r2".
std::string degrees_text(const RankMesh& mesh) {
  if (mesh.ulysses == 0) return "–";  // not known
  return fmt::format("u{} r{}", mesh.ulysses, mesh.ring);
}

// How a layer at a denoise step came out, as it is shown. Its degrees only where layer passes differ in them.
std::vector<Cell> layer_cells(const StrategyResult& s, const LayerResult& l) {
  const bool differ = s.meshes.size() > 1 && l.mesh < std::ssize(s.meshes);
  return {cell(Hint::kCount, l.denoise_step),
          cell(Hint::kCount, l.layer),
          text_cell(differ ? degrees_text(s.meshes[static_cast<std::size_t>(l.mesh)]) : ""),
          duration_cell(l.makespan_ns),
          cell(Hint::kPercent, l.density),
          text_cell(l.slowest_rank ? fmt::format("rank {}", *l.slowest_rank) : "–"),
          cell(Hint::kRatio, l.imbalance_ratio),
          cell(Hint::kRatio, l.coupled_imbalance_ratio)};
}

// The ratios as displayed: layer passes with equal text count as equal.
struct ShownBalance {
  std::string imbalance, coupled;
  bool operator==(const ShownBalance&) const = default;
};

ShownBalance balance_of(const LayerResult& l) {
  return {ratio_text(l.imbalance_ratio.value_or(1)), ratio_text(l.coupled_imbalance_ratio.value_or(1))};
}

// Which layer passes ran with which degrees, where they differ: "dbsp ran u4 r2 in 39 layer passes; u2 r4 in 1 layer
// pass (layer 12 of denoise step 0).".
void add_meshes(const StrategyResult& s, Section& section) {
  constexpr std::int64_t kMostNamed = 4;
  if (s.meshes.size() < 2 || s.by_layer.size() < 2) return;
  std::string text;
  for (std::size_t i = 0; i < s.meshes.size(); ++i) {
    const std::int64_t passes = s.passes_of_mesh(i);
    std::vector<std::string> places;
    if (passes <= kMostNamed && passes < std::ssize(s.by_layer))
      for (const LayerResult& l : s.by_layer)
        if (l.mesh == static_cast<int>(i))
          places.push_back(fmt::format("layer {} of denoise step {}", l.layer, l.denoise_step));
    text += fmt::format("{}{} in {} layer pass{}{}", i == 0 ? "" : "; ", degrees_text(s.meshes[i]), passes,
                        passes == 1 ? "" : "es", places.empty() ? "" : " (" + listed(places) + ")");
  }
  section.blocks.push_back(Paragraph{fmt::format("{} ran {}.", s.name, text), Tone::kNote});
}

// Several layers or denoise steps: all of a few, of many the most uneven. The others are for SQL.
void add_layers(const StrategyResult& s, Section& section) {
  constexpr std::size_t kMostRows = 12;
  if (s.by_layer.size() < 2) return;
  std::vector<const LayerResult*> layers;
  for (const LayerResult& layer : s.by_layer) layers.push_back(&layer);
  std::string caption = s.label + " by layer and denoise step";
  if (layers.size() > kMostRows) {
    const ShownBalance first = balance_of(*layers.front()), even = {ratio_text(1), ratio_text(1)};
    if (std::ranges::all_of(layers, [&](const LayerResult* l) { return balance_of(*l) == first; })) {
      section.blocks.push_back(
          Paragraph{fmt::format("{}: all {} layer passes are {}, with an imbalance of {}.", s.label, layers.size(),
                                first == even ? "even" : "equally uneven", first.imbalance),
                    Tone::kNote});
      return;
    }
    std::erase_if(layers, [&](const LayerResult* l) { return balance_of(*l) == even; });
    std::ranges::stable_sort(layers, std::greater(),
                             [](const LayerResult* l) { return l->imbalance_ratio.value_or(1); });
    const std::size_t uneven = layers.size();
    layers.resize(std::min(uneven, kMostRows));
    caption = uneven > kMostRows
                  ? fmt::format("{}: the {} most uneven of {} layer passes", s.label, kMostRows, s.by_layer.size())
                  : fmt::format("{}: {} of {} layer passes are uneven", s.label, uneven, s.by_layer.size());
  }
  Table table;
  table.caption = std::move(caption);
  table.columns = {{"denoise step"},
                   {"layer"},
                   text_column("degrees"),
                   {"makespan", "makespan"},
                   {"density", "density"},
                   {"slowest", "compute"},
                   {"imbalance", "imbalance_ratio"},
                   {"coupled", "coupled_imbalance_ratio"}};
  for (const LayerResult* l : layers) table.rows.push_back({layer_cells(s, *l)});
  if (s.meshes.size() < 2) drop_empty_columns(table);
  section.blocks.push_back(std::move(table));
}

}  // namespace

void fill_balance(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    if (groups.size() > 1) section.blocks.push_back(Paragraph{std::string(mode_word(group.mode)), Tone::kNote});
    if (Table table = ratio_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
    if (Table table = slowest_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
    add_rank_charts(group, section);
    for (const StrategyResult* strategy : group.strategies) add_steps(*strategy, section);
    for (const StrategyResult* strategy : group.strategies) add_meshes(*strategy, section);
    for (const StrategyResult* strategy : group.strategies) add_layers(*strategy, section);
  }
}

}  // namespace spscope
