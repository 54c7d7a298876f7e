// Comparison: from the fastest strategy to each slower one, by compute, late peer, wire and other, which add up to the
// difference exactly; and by layer pass.
#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/judgement.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

StackedBars::Bar whole(const StrategyResult& s) {
  return {s.label, {static_cast<double>(*s.makespan_ns)}, {.strategy = s.id}};
}

bool has_terms(const StrategyResult& s) { return s.terms && s.makespan_ns; }

const LayerResult* pass_of(const StrategyResult& s, const LayerResult& where) {
  const auto found = std::ranges::find_if(s.by_layer, [&](const LayerResult& l) {
    return l.layer == where.layer && l.denoise_step == where.denoise_step && l.makespan_ns;
  });
  return found == s.by_layer.end() ? nullptr : &*found;
}

// How much longer each strategy takes than the fastest in each layer pass: all of few, of many those that the fastest
// takes longest for.
Table by_pass(const ModeGroup& group, const StrategyResult& fastest) {
  constexpr std::size_t kMost = 12;
  std::vector<const LayerResult*> passes;
  for (const LayerResult& layer : fastest.by_layer)
    if (layer.makespan_ns) passes.push_back(&layer);
  const std::size_t count = passes.size();
  std::ranges::stable_sort(passes, std::greater(), [](const LayerResult* l) { return *l->makespan_ns; });
  passes.resize(std::min(count, kMost));
  std::ranges::sort(passes, {}, [](const LayerResult* l) { return std::pair(l->denoise_step, l->layer); });
  Table table;
  table.caption =
      fmt::format("Time of {} in each layer pass, and how much longer the others take{}", fastest.label,
                  count > kMost ? fmt::format(": the {} of {} that it takes longest for", kMost, count) : "");
  table.columns = {{"denoise step"}, {"layer"}, {fastest.label, "makespan"}};
  std::vector<const StrategyResult*> others;
  for (const StrategyResult* s : group.strategies)
    if (s != &fastest && has_terms(*s)) others.push_back(s), table.columns.push_back({s->label, "makespan"});
  for (const LayerResult* pass : passes) {
    Row row{
        {cell(Hint::kCount, pass->denoise_step), cell(Hint::kCount, pass->layer), duration_cell(pass->makespan_ns)}};
    for (const StrategyResult* s : others) {
      const LayerResult* same = pass_of(*s, *pass);
      row.cells.push_back(duration_cell(same ? std::optional(*same->makespan_ns - *pass->makespan_ns) : std::nullopt));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::optional<Waterfall> waterfall(const StrategyResult& from, const StrategyResult& to) {
  if (!has_terms(from) || !has_terms(to)) return std::nullopt;
  Waterfall chart{fmt::format("From {} to {}", from.label, to.label), whole(from), whole(to), {}, 0};
  const std::vector<StackedBars::Part> parts = time_parts(to), before = time_parts(from);
  const TimeTerms terms = *to.terms - *from.terms;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    chart.steps.push_back({parts[p], static_cast<double>(terms.of(static_cast<TimeColumn>(p))), p});
    chart.steps.back().modelled |= before[p].modelled;
  }
  return chart;
}

void fill_comparison(const SectionInput& input, Section& section) {
  for (const ModeGroup& group : by_mode(input.comparison)) {
    const Judgement judgement = judge(group);
    if (judgement.lead == Lead::kUnknown || !has_terms(*judgement.ranked.front())) continue;
    const StrategyResult& fastest = *judgement.ranked.front();
    double scale_ns = 0;
    std::vector<Waterfall> falls;
    for (const StrategyResult* s : judgement.ranked)
      if (s != &fastest && has_terms(*s)) {
        falls.push_back(*waterfall(fastest, *s));
        double at_ns = falls.back().from.parts_ns.front();
        for (const Waterfall::Step& step : falls.back().steps) scale_ns = std::max(scale_ns, at_ns += step.delta_ns);
      }
    if (falls.empty()) continue;
    section.blocks.push_back(
        Paragraph{"Means over ranks: what each part adds to, or takes from, the makespan of the fastest. Parts below a "
                  "hundredth of "
                  "the largest are left out.",
                  Tone::kNote});
    for (Waterfall& chart : falls) {
      chart.scale_ns = scale_ns;
      section.blocks.push_back(std::move(chart));
    }
    if (fastest.by_layer.size() > 1) section.blocks.push_back(by_pass(group, fastest));
  }
}

}  // namespace spscope
