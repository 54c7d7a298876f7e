// Summary: one table a mode with a row for each strategy, and the conclusions.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "backend/analysis/judgement.h"
#include "backend/base/listed.h"
#include "backend/report/conclusion.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/metrics.h"
#include "backend/report/refused.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

bool timed(const ModeGroup& group) {
  return std::ranges::any_of(group.strategies, [](const StrategyResult* s) { return s->makespan_ns.has_value(); });
}

Cell largest_memory_cell(const std::vector<std::int64_t>& by_rank) {
  if (by_rank.empty()) return cell(Hint::kMemory, {});
  return cell(Hint::kMemory, static_cast<double>(*std::ranges::max_element(by_rank)));
}

// The bound of the workload on its cluster, which all strategies share; absent where none is proven, as for measured
// compute.
std::optional<std::int64_t> bound_of(const ModeGroup& group) {
  for (const StrategyResult* s : group.strategies)
    if (s->bound_ns) return s->bound_ns;
  return std::nullopt;
}

// Of a ratio over layer passes; none of the baseline's own speed-up, which is 1 in each.
std::optional<double> deviation(const std::optional<OverLayers>& spread, bool is_baseline = false) {
  return spread && !is_baseline ? std::optional(spread->stddev) : std::nullopt;
}

Table run_table(const Comparison& comparison, const ModeGroup& group) {
  const StrategyResult* first = baseline(comparison.strategies, group.mode);
  const bool speedups = first && first->speedup.has_value();
  Table table;
  table.columns = {text_column("strategy"), {"makespan", "makespan"}};
  const bool ranges = std::ranges::any_of(
      group.strategies, [](const StrategyResult* s) { return s->legal() && s->makespan_low_ns.has_value(); });
  if (ranges) table.columns.push_back(number_column("range", "makespan", 2));
  if (speedups) table.columns.push_back(number_column("vs " + first->name, "speedup", 3));
  for (const TimePart& part : kTimeParts)
    table.columns.push_back(number_column(part.heading, part.metric, part.by_rank == &RankTimes::other_ns ? 6 : 5));
  for (Column column : {number_column("imbalance", "imbalance_ratio", 2),
                        number_column("barrier", "barrier_imbalance_ratio", 8), number_column("slowest", "compute", 1),
                        number_column("sent/rank", "bytes_sent", 7), number_column("end to end", "end_to_end", 4)})
    table.columns.push_back(std::move(column));
  for_each_figure([&](const FigureRow& figure, auto) {
    if (figure.is_last()) table.columns.push_back(number_column(heading_of(figure), metric_of(figure.name), 9));
  });
  table.columns.push_back(text_column("check", "verification"));
  const StrategyResult* best = judge(group).winner();
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    Row row{{text_cell(s->label), duration_cell(s->makespan_ns, s->makespan_spread_ns)},
            s == best,
            false,
            {.strategy = s->id}};
    if (ranges) row.cells.push_back(text_cell(range_text(*s)));
    if (speedups) row.cells.push_back(cell(Hint::kSpeedup, s->speedup, deviation(s->over_layers.speedup, s == first)));
    for (const TimePart& part : kTimeParts) row.cells.push_back(cell(Hint::kDuration, mean(s->times.*part.by_rank)));
    for (Cell c : {cell(Hint::kRatio, s->imbalance_ratio, deviation(s->over_layers.imbalance_ratio)),
                   cell(Hint::kRatio, s->barrier_imbalance_ratio), text_cell(slowest_text(*s)),
                   cell(Hint::kBytes, mean(s->bytes_sent)), duration_cell(s->end_to_end_ns)})
      row.cells.push_back(std::move(c));
    for_each_figure([&](const FigureRow& figure, auto of) {
      if (figure.is_last()) row.cells.push_back(cell(hint_of(figure), of(*s)));
    });
    row.cells.push_back(verdict_cell(s->verify, s->max_error));
    table.rows.push_back(std::move(row));
  }
  if (const auto bound = bound_of(group)) {
    Row row{.cells = {text_cell("best possible"), duration_cell(bound)}, .aside = true};
    if (ranges) row.cells.push_back(text_cell(""));
    if (speedups && *bound > 0)
      row.cells.push_back(cell(Hint::kSpeedup, static_cast<double>(*first->makespan_ns) / static_cast<double>(*bound)));
    table.rows.push_back(std::move(row));
  }
  drop_if_same(table, "barrier", "imbalance");
  const bool other = std::ranges::any_of(group.strategies, [](const StrategyResult* s) {
    return s->legal() && s->makespan_ns && shows_in(mean(s->times.other_ns).value_or(0), *s->makespan_ns);
  });
  if (!other) drop_column(table, "other");
  return table;
}

Table plan_table(const ModeGroup& group) {
  Table table;
  table.columns = {text_column("strategy"),
                   {"imbalance", "imbalance_ratio"},
                   number_column("barrier", "barrier_imbalance_ratio", 2),
                   number_column("coupled", "coupled_imbalance_ratio", 1),
                   number_column("busiest", "tiles", 6),
                   {"sent/rank", "bytes_sent"},
                   number_column("messages", "messages", 4),
                   number_column("tiles", "tiles", 5),
                   number_column("activations/rank", "memory_peak", 3),
                   number_column("planning", "planning", 7)};
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    table.rows.push_back(
        {{text_cell(s->label), cell(Hint::kRatio, s->imbalance_ratio), cell(Hint::kRatio, s->barrier_imbalance_ratio),
          cell(Hint::kRatio, s->coupled_imbalance_ratio), text_cell(slowest_text(*s)),
          cell(Hint::kBytes, mean(s->bytes_sent)), cell(Hint::kCount, s->messages), cell(Hint::kCount, s->tiles),
          largest_memory_cell(s->memory_peak_bytes), duration_cell(s->planning_ns)},
         false,
         false,
         {.strategy = s->id}});
  }
  return table;
}

StackedBars makespan_bars(const ModeGroup& group) {
  StackedBars bars;
  bars.caption = "Where the makespan went, mean over ranks";
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal() || s->times.compute_ns.empty()) continue;
    if (bars.parts.empty()) bars.parts = time_parts(*s);
    bars.bars.push_back({s->label, {}, {.strategy = s->id}});
    for (const TimePart& part : kTimeParts) bars.bars.back().parts_ns.push_back(*mean(s->times.*part.by_rank));
  }
  if (const auto bound = bound_of(group)) {
    bars.mark_ns = static_cast<double>(*bound);
    bars.mark_label = "best possible";
  }
  return bars;
}

// Omitted where nothing was computed: the headline states that once.
void drop_unchecked(Table& table) {
  const bool none = std::ranges::all_of(table.rows, [](const Row& row) {
    return std::ranges::all_of(row.cells,
                               [](const Cell& c) { return c.hint != Hint::kVerdict || c.text == "skipped"; });
  });
  if (!none || table.columns.back().heading != "check") return;
  for (Row& row : table.rows)
    if (row.cells.size() == table.columns.size()) row.cells.pop_back();
  table.columns.pop_back();
}

Sentence refusal(const StrategyResult& s) {
  const std::string hint = s.problems.empty() || s.problems.front().hint.empty() ? "" : "; " + s.problems.front().hint;
  return SentenceBuilder()
      .name(s.label, {.strategy = s.id})
      .add(fmt::format(" cannot run: {}{}", s.reason(), hint))
      .take();
}

// Strategies that `all` stands for: among how many settings each was picked, and which cannot run.
void add_picks(const Workload& workload, const ModeGroup& group, Section& section) {
  int settings = 0, strategies = 0;
  std::vector<const StrategyResult*> picked;
  for (const StrategyResult* s : group.strategies) {
    if (!s->pick) continue;
    settings += s->pick->settings;
    strategies += s->legal();
    picked.push_back(s);
  }
  // One file is of one division of the ranks.
  const bool one_pass = workload.forward_passes > 1 && workload.guidance == 1 && workload.data_parallel == 1;
  if (settings > strategies)
    section.blocks.push_back(
        Paragraph{fmt::format("Each strategy is shown with its best setting ({} tried).{}", settings,
                              one_pass ? " To compare guidance parallelism and replicas too, use spscope advise." : ""),
                  Tone::kNote});
  if (const std::string refused = refused_text(picked); !refused.empty())
    section.blocks.push_back(Paragraph{fmt::format("Not possible here: {}.", refused), Tone::kNote});
}

void add_warnings(const ModeGroup& group, Section& section) {
  for (const StrategyResult* s : group.strategies)
    if (s->verify == "failed")
      section.blocks.push_back(paragraph(SentenceBuilder()
                                             .name(s->label, {.strategy = s->id})
                                             .add(" computed a wrong result; its times mean nothing.")
                                             .take(),
                                         Tone::kWarning));
  for (std::string& warning : timing_warnings(group))
    section.blocks.push_back(Paragraph{std::move(warning), Tone::kWarning});
}

// What the parts of a makespan are.
Table::Note parts_note(const ModeGroup& group, const Table& table) {
  if (std::ranges::all_of(group.strategies, [](const StrategyResult* s) { return s->times.other_ns.empty(); }))
    return {};
  std::vector<std::string> parts = {"compute", "late peer", "wire", "other"};
  std::erase_if(parts, [&](const std::string& part) {
    return std::ranges::find(table.columns, part, &Column::heading) == table.columns.end();
  });
  if (parts.size() < 2) return {};
  std::string text = listed(parts) + " are means over ranks and add up to the makespan.";
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return {std::move(text), std::move(parts)};
}

void add_spread(const ModeGroup& group, Section& section) {
  if (std::ranges::any_of(group.strategies,
                          [](const StrategyResult* s) { return s->makespan_spread_ns.value_or(0) > 0; }))
    section.blocks.push_back(Paragraph{"± is half the interquartile range over repeats.", Tone::kNote});
}

// What the ends of a range are.
void add_ranges(const ModeGroup& group, Section& section) {
  if (std::ranges::none_of(group.strategies, [](const StrategyResult* s) { return s->makespan_low_ns.has_value(); }))
    return;
  section.blocks.push_back(
      Paragraph{"Range: the same schedule on the fastest and the slowest network of such hosts (spscope list clusters "
                "--toml NAME has their numbers).",
                Tone::kNote});
}

// What the figures of several layer passes are.
void add_sums(const Workload& w, Section& section) {
  const int passes = w.layer_passes_done.value_or(w.layer_passes());
  if (passes < 2) return;
  section.blocks.push_back(
      Paragraph{fmt::format("Times, bytes and tiles are sums over {} layer passes (a layer pass is one layer at one "
                            "denoise step); ratios are means over them, ± their standard deviation.",
                            count_text(passes)),
                Tone::kNote});
}

}  // namespace

void fill_summary(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    const bool any_legal = std::ranges::any_of(group.strategies, &StrategyResult::legal);
    if (Badges badges = provenance_badges(group); !badges.list.empty()) section.blocks.push_back(std::move(badges));
    Tone tone = Tone::kConclusion;
    for (Sentence& sentence : conclusions(group)) {
      section.blocks.push_back(paragraph(std::move(sentence), tone));
      if (timed(group)) tone = Tone::kReason;
    }
    for (std::string& sentence : support_of_conclusions(group))
      section.blocks.push_back(Paragraph{std::move(sentence), Tone::kReason});
    add_warnings(group, section);
    if (any_legal && nothing_finished_text(comparison).empty()) {
      Table table = timed(group) ? run_table(comparison, group) : plan_table(group);
      if (groups.size() > 1) table.caption = mode_word(group.mode);
      drop_empty_columns(table);
      if (group.mode != RunMode::kExecute) drop_unchecked(table);
      if (Table::Note parts = parts_note(group, table); !parts.text.empty()) table.notes.push_back(std::move(parts));
      if (timed(group) && bound_of(group))
        table.notes.push_back({"Best possible is a bound: no plan is faster, and perhaps none is as fast.", {}});
      note_attention_alone(table, comparison.workload);
      section.blocks.push_back(std::move(table));
      add_spread(group, section);
      add_ranges(group, section);
      add_sums(comparison.workload, section);
      if (std::string by_pass = by_pass_sentence(judge(group)); !by_pass.empty())
        section.blocks.push_back(Paragraph{std::move(by_pass), Tone::kNote});
      if (std::string memory = memory_line(group.strategies); !memory.empty())
        section.blocks.push_back(Paragraph{std::move(memory), Tone::kNote});
    }
    for (std::string& note : uneven_heads_notes(group.of->workload, group.strategies))
      section.blocks.push_back(Paragraph{std::move(note), Tone::kNote});
    for (const StrategyResult* s : group.strategies)
      if (!s->legal() && !s->pick) section.blocks.push_back(paragraph(refusal(*s), Tone::kNote));
    add_picks(comparison.workload, group, section);
    if (StackedBars bars = makespan_bars(group); !bars.bars.empty()) section.blocks.push_back(std::move(bars));
  }
}

}  // namespace spscope
