#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "backend/base/listed.h"
#include "backend/report/conclusion.h"
#include "backend/report/explain.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

constexpr double kWorthSaying = 0.01;  // of a layer pass

std::string time_text(std::int64_t ns) { return duration_text(static_cast<double>(ns)); }

// "rank 2: late partner" is why a step began.
std::string why_text(const NamedStep& step) {
  const std::string of =
      step.after_rank && *step.after_rank != step.rank ? fmt::format(" of rank {}", *step.after_rank) : "";
  switch (step.cause) {
    case PathCause::kStart:
      return "nothing comes before it";
    case PathCause::kLaneBefore:
      return "the op before it ended";
    case PathCause::kDependency:
      return "an op that it needs ended" + of;
    case PathCause::kTransfer:
      return "its data arrived" + of;
    case PathCause::kLatePartner:
      break;
  }
  return fmt::format("rank {} posted last", step.after_rank.value_or(step.rank));
}

Table overview(const Explanation& explanation) {
  Table table;
  table.caption =
      fmt::format("{} at one denoise step",
                  explanation.comparison.workload.scope == "layer" ? "One layer" : "The attention of one layer");
  table.columns = {
      text_column("strategy"),     {"layer pass", "makespan"},      {"path compute"}, {"path wire"},     {"path idle"},
      {"mean compute", "compute"}, {"late peer", "wait_late_peer"}, {"wire", "wire"}, {"other", "other"}};
  for (const StrategyExplanation& e : explanation.strategies) {
    Row row{{text_cell(e.label), duration_cell(e.makespan_ns)}};
    if (e.missing.empty())
      for (const std::int64_t ns : {e.path_terms.of(TimeColumn::kCompute), e.path_terms.of(TimeColumn::kWire),
                                    e.path_terms.of(TimeColumn::kOther), e.mean_terms.of(TimeColumn::kCompute),
                                    e.mean_terms.of(TimeColumn::kLatePeer), e.mean_terms.of(TimeColumn::kWire),
                                    e.mean_terms.of(TimeColumn::kOther)})
        row.cells.push_back(duration_cell(ns));
    row.best = e.id == explanation.fastest;
    table.rows.push_back(std::move(row));
  }
  const auto shows = [&](TimeTerms StrategyExplanation::*terms) {
    return std::ranges::any_of(explanation.strategies, [&](const StrategyExplanation& e) {
      return e.missing.empty() && shows_in(static_cast<double>((e.*terms).of(TimeColumn::kOther)), e.makespan_ns);
    });
  };
  if (!shows(&StrategyExplanation::path_terms)) drop_column(table, "path idle");
  if (!shows(&StrategyExplanation::mean_terms)) drop_column(table, "other");
  table.notes = {
      {"Path is the critical path, the chain of operations that takes the whole time. The other columns are "
       "means over ranks.",
       {}},
      {"Late peer is the wait for ranks that post late.", {"late peer"}},
      {"Wire is the time of transfers that no compute hides.", {"wire"}},
      {"Path idle is the time in which no operation of the path runs.", {"path idle"}},
      {"Other is the wait for the host, for operations of the same rank, and for the last rank to end.", {"other"}}};
  return table;
}

Table terms_table(const StrategyExplanation& e) {
  Table table;
  table.caption = "Where the time goes";
  table.columns = {text_column("term"), {"mean over ranks"}, {"critical path"}};
  if (e.reason) table.columns.push_back({"more than the fastest"});
  for (int i = 0; i < kNumTimeTerms; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    const auto shows = [&](const TimeTerms& terms) {
      return shows_in(static_cast<double>(terms[term]), e.makespan_ns);
    };
    if (!shows(e.mean_terms) && !shows(e.path_terms) && !(e.reason && shows(e.reason->terms))) continue;
    Row row{{text_cell(std::string(time_term_rows()[static_cast<std::size_t>(i)].key)),
             duration_cell(e.mean_terms[term]), duration_cell(e.path_terms[term])}};
    if (e.reason) row.cells.push_back(duration_cell(e.reason->terms[term]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Paragraph path_paragraph(const StrategyExplanation& e) {
  constexpr std::size_t kMostRanks = 6;
  std::string ranks;
  for (std::size_t i = 0; i < std::min(kMostRanks, e.path_visits.size()); ++i)
    ranks += fmt::format("{}{} ({})", i > 0 ? ", " : "", e.path_visits[i].rank, time_text(e.path_visits[i].ns));
  if (e.path_visits.size() > kMostRanks) ranks += fmt::format(" and {} more", e.path_visits.size() - kMostRanks);
  const TimeTerms& terms = e.path_terms;
  return {fmt::format("The critical path has {} of compute, {} of wire and {} idle in {} steps. It visits rank{} {}.",
                      time_text(terms.of(TimeColumn::kCompute)), time_text(terms.of(TimeColumn::kWire)),
                      time_text(terms.of(TimeColumn::kOther)), e.path.steps.size(),
                      e.path_visits.size() == 1 ? "" : "s", ranks)};
}

Table steps_table(const StrategyExplanation& e, std::size_t most) {
  Table table;
  table.caption = "Longest steps of the critical path, from where the makespan begins";
  table.columns = {text_column("op"), {"rank"}, {"begins at"}, {"takes"}, text_column("is"), text_column("began when")};
  bool early = false;
  for (const NamedStep& s : std::span(e.top_steps).first(std::min(most, e.top_steps.size()))) {
    early = early || s.begin_ns < e.zero_ns;
    table.rows.push_back(
        {{text_cell(s.name), text_cell(std::to_string(s.rank)), duration_cell(s.begin_ns - e.zero_ns),
          duration_cell(s.ns()),
          text_cell(s.share == PathShare::kIdle ? "gap before it" : std::string(path_share_name(s.share))),
          text_cell(why_text(s))}});
  }
  if (early)
    table.notes.push_back({"A step that begins below 0 runs while other ranks finish the layer pass before.", {}});
  return table;
}

// `all`: their sum, too.
void add_waits(const StrategyExplanation& e, std::size_t most, bool all, Section& section) {
  const std::int64_t sum_ns = std::accumulate(e.wait_late_peer_ns.begin(), e.wait_late_peer_ns.end(), std::int64_t{0});
  if (sum_ns == 0 && e.end_waits.empty()) {
    section.blocks.push_back(Paragraph{"No rank waits for another one."});
    return;
  }
  Table table;
  table.caption = "Who waits for whom, longest first";
  table.columns = {{"rank"}, {"waits for rank"}, text_column("in"), {"ring step"}, {"time", "wait_late_peer"}};
  std::vector<RankWait> waits = e.waits;
  waits.insert(waits.end(), e.end_waits.begin(), e.end_waits.end());
  std::ranges::stable_sort(waits, std::greater(), &RankWait::wait_ns);
  for (const RankWait& w : waits) {
    if (table.rows.size() == most) break;
    table.rows.push_back({{text_cell(std::to_string(w.rank)), text_cell(std::to_string(w.late_rank)),
                           text_cell(w.collective == "end" ? "the end" : w.collective),
                           text_cell(w.ring_step > 0 ? std::to_string(w.ring_step) : ""), duration_cell(w.wait_ns)}});
  }
  section.blocks.push_back(std::move(table));
  if (sum_ns == 0 || !all) return;
  section.blocks.push_back(
      Paragraph{fmt::format("The {} waits for partners add up to {}, the late-peer time of all ranks.", e.waits.size(),
                            time_text(sum_ns)),
                Tone::kNote});
}

Table stragglers_table(const StrategyExplanation& e, std::size_t most) {
  Table table;
  table.caption = "Ranks that compute longer than the mean, and why";
  table.columns = {{"rank"},
                   {"excess", "compute"},
                   {"by tiles"},
                   {"by speed"},
                   {"by other"},
                   number_column("tiles", "tiles", 1),
                   number_column("mean", "tiles", 1),
                   text_column("heads"),
                   {"density"},
                   {"of all heads"},
                   {"others wait"},
                   text_column("longest")};
  for (const Straggler& s : e.stragglers) {
    if (table.rows.size() == most) break;
    table.rows.push_back(
        {{text_cell(std::to_string(s.rank)), duration_cell(s.excess_ns), duration_cell(s.more_tiles_ns),
          duration_cell(s.slower_tiles_ns), duration_cell(s.other_ns), cell(Hint::kCount, s.tiles),
          cell(Hint::kCount, s.mean_tiles), text_cell(s.heads), cell(Hint::kRatio, s.density),
          cell(Hint::kRatio, s.mean_density), duration_cell(s.held_up_ns),
          text_cell(s.held_up.empty() ? "" : fmt::format("rank {}", s.held_up.front().rank))}});
  }
  drop_empty_columns(table);
  table.notes.push_back(
      {"The excess is by tiles where the rank has more of them, and by speed where its tiles take longer.", {}});
  return table;
}

// Without `all` those that change a hundredth.
void add_edits(const StrategyExplanation& e, bool all, Section& section) {
  if (e.edits.empty()) {
    section.blocks.push_back(Paragraph{"No what-if: " + e.edits_missing + ".", Tone::kNote});
    return;
  }
  const std::int64_t base_ns = e.edits.front().makespan_ns;
  Table table;
  table.caption = "What if: the plan scheduled anew, modelled";
  table.columns = {text_column("edit"), {"layer pass", "makespan"}, {"change"}, {"its denoise step", "makespan"}};
  for (const EditResult& edit : e.edits) {
    const double change = base_ns > 0 ? static_cast<double>(edit.change_ns) / static_cast<double>(base_ns) : 0;
    if (!all && &edit != &e.edits.front() && std::abs(change) < kWorthSaying) continue;
    table.rows.push_back({{text_cell(time_edit_text(edit.edit)), duration_cell(edit.makespan_ns),
                           text_cell(&edit == &e.edits.front() ? "" : fmt::format("{:+.1f} %", 100 * change)),
                           duration_cell(edit.step_makespan_ns)}});
  }
  section.blocks.push_back(std::move(table));
  if (std::string note = unchanged_text(e); !note.empty())
    section.blocks.push_back(Paragraph{std::move(note), Tone::kNote});
}

// What the whole run says, of a strategy that ran several layer passes.
void add_reason_of_run(const Explanation& explanation, const StrategyExplanation& e, Section& section) {
  const StrategyResult* result = explanation.comparison.find(e.id);
  if (result == nullptr || result->by_layer.size() < 2) return;
  for (const ModeGroup& group : by_mode(explanation.comparison)) {
    if (group.mode != explanation.mode) continue;
    const Judgement judgement = judge(group);
    if (const std::optional<Reason> reason = judgement.reason(*result))
      section.blocks.push_back(Paragraph{
          "Over all layer passes, " + reason_text(*reason, *result, *judgement.ranked.front()) + ".", Tone::kReason});
  }
}

// "links inside nodes were twice as fast"
std::string condition_text(const TimeEdit& edit) {
  switch (edit.kind) {
    case TimeEditKind::kEvenlySpread:
      return "attention were spread evenly over ranks";
    case TimeEditKind::kRankAsMean:
      return fmt::format("rank {} attended as long as the mean", edit.rank);
    case TimeEditKind::kFasterLinks:
      return "links inside nodes were twice as fast";
    case TimeEditKind::kFasterNics:
      return "links between nodes were twice as fast";
    case TimeEditKind::kNone:
    case TimeEditKind::kNoLatency:
      break;
  }
  return "messages had no latency";
}

// The edit that would help a strategy most; "" where none helps by a hundredth.
std::string help_text(const StrategyExplanation& e) {
  if (e.edits.empty()) return "";
  const EditResult& best = *std::ranges::min_element(e.edits, {}, &EditResult::change_ns);
  if (static_cast<double>(-best.change_ns) < kWorthSaying * static_cast<double>(e.edits.front().makespan_ns)) return "";
  return fmt::format(" By the model {} would be {} faster if {}.", e.label, time_text(-best.change_ns),
                     condition_text(best.edit));
}

// Why a number of the tables that are shown is below 0, and for whom; "": none is. `all`: the terms are shown, too.
std::string early_note(std::span<const StrategyExplanation> strategies, bool all) {
  const auto below_zero = [&](const auto& number_of) {
    std::vector<std::string> labels;
    for (const StrategyExplanation& e : strategies)
      if (const std::int64_t ns = number_of(e.mean_terms);
          e.missing.empty() && ns < 0 && shows_in(static_cast<double>(ns), e.makespan_ns))
        labels.push_back(e.label);
    return listed(labels);
  };
  const std::string in_other = below_zero([](const TimeTerms&terms) { return terms.of(TimeColumn::kOther); }),
                    in_term = below_zero([](const TimeTerms&terms) { return terms[TimeTerm::kEndWait]; });
  const bool is_column = !in_other.empty();
  if (!is_column && (!all || in_term.empty())) return "";
  return fmt::format("{} is below 0 for {}: ranks start this layer pass while others still finish the one before.",
                     is_column ? "Other" : "The term end_wait", is_column ? in_other : in_term);
}

// Which is fastest in this layer pass, as far as these times show it; "" for one strategy without a time.
std::string winner_text(const Explanation& explanation) {
  const auto& all = explanation.strategies;
  const auto fastest = std::ranges::find(all, explanation.fastest, &StrategyExplanation::id);
  if (fastest == all.end())
    return all.size() > 1 ? "No strategy is named fastest, because these times do not compare." : "";
  for (const ModeGroup& group : by_mode(explanation.comparison)) {
    if (group.mode != explanation.mode) continue;
    const Judgement judgement = judge(group);
    std::string text = fmt::format("{}, {} is fastest in this layer pass, with {}", kind_of_times(group, judgement),
                                   fastest->label, time_text(fastest->makespan_ns));
    std::vector<Sentence> level;
    for (const StrategyExplanation& e : all)
      if (judgement.error && e.missing.empty() && e.id != fastest->id &&
          judgement.too_close(e.makespan_ns, fastest->makespan_ns, 1))
        level.push_back({e.label});
    if (!level.empty()) text += fmt::format(". {}, {}", too_close_words(level, judgement).text, judgement.error->from);
    const std::string note = attention_note(judgement);
    return text + (note.empty() ? "." : ". " + note);
  }
  return "";
}

// Who is fastest, why each of the others is not, and what would help each.
void add_answer(const Explanation& explanation, Section& section) {
  if (std::string words = winner_text(explanation); !words.empty())
    section.blocks.push_back(Paragraph{std::move(words), Tone::kConclusion});
  for (const StrategyExplanation& e : explanation.strategies)
    if (e.reason) section.blocks.push_back(Paragraph{e.reason_text + "." + help_text(e), Tone::kReason});
  for (const StrategyExplanation& e : explanation.strategies)
    if (!e.host_text.empty()) section.blocks.push_back(Paragraph{e.label + ". " + e.host_text, Tone::kReason});
}

Section strategy_section(const Explanation& explanation, const StrategyExplanation& e, ShownStrategies shown) {
  const bool all = shown == ShownStrategies::kAll;
  const std::size_t most = all ? 8 : 2;  // rows of a table
  Section section{"strategy-" + e.id, e.label, {}};
  if (!e.missing.empty()) {
    section.blocks.push_back(Paragraph{"Nothing can be explained: " + e.missing + ".", Tone::kNote});
    return section;
  }
  add_reason_of_run(explanation, e, section);
  if (all) {
    section.blocks.push_back(terms_table(e));
    section.blocks.push_back(path_paragraph(e));
    section.blocks.push_back(steps_table(e, most));
  }
  add_waits(e, most, all, section);
  if (!e.stragglers.empty()) section.blocks.push_back(stragglers_table(e, most));
  add_edits(e, all, section);
  return section;
}

// Of those with times the fastest and the one whose ranks wait longest for others, or all. Where nobody waits, or in
// the fastest most, the second one is the slowest.
std::vector<const StrategyExplanation*> shown_strategies(const Explanation& explanation, ShownStrategies shown) {
  std::vector<const StrategyExplanation*> list;
  const bool all = shown == ShownStrategies::kAll || explanation.strategies.size() <= 2;
  for (const StrategyExplanation& e : explanation.strategies)
    if (all || e.missing.empty()) list.push_back(&e);
  if (list.empty()) list.push_back(&explanation.strategies.front());
  if (all || list.size() <= 2) return list;
  const auto late_ns = [](const StrategyExplanation* e) { return e->mean_terms.of(TimeColumn::kLatePeer); };
  const auto [fastest, slowest] = std::ranges::minmax_element(list, {}, &StrategyExplanation::makespan_ns);
  const auto waiting = std::ranges::max_element(list, {}, late_ns);
  return {*fastest, late_ns(*waiting) > 0 && waiting != fastest ? *waiting : *slowest};
}

}  // namespace

std::vector<Section> explanation_sections(const Explanation& explanation, ShownStrategies shown) {
  Section answer{"answer",
                 fmt::format("Layer {}, denoise step {}, {}", explanation.layer, explanation.denoise_step,
                             mode_word(explanation.mode)),
                 {}};
  answer.blocks.push_back(Paragraph{workload_line(explanation.comparison.workload, executes(explanation.comparison))});
  for (Sentence& warning : headline_warnings(explanation.comparison))
    answer.blocks.push_back(paragraph(std::move(warning), Tone::kWarning));
  for (const ModeGroup& group : by_mode(explanation.comparison))
    for (std::string& warning : group.mode == explanation.mode ? timing_warnings(group) : std::vector<std::string>())
      answer.blocks.push_back(Paragraph{std::move(warning), Tone::kWarning});
  const std::vector<const StrategyExplanation*> strategies = shown_strategies(explanation, shown);
  add_answer(explanation, answer);
  Section all{"layer-pass", "All strategies", {}};
  all.blocks.push_back(overview(explanation));
  if (std::string note = early_note(explanation.strategies, shown == ShownStrategies::kAll); !note.empty())
    all.blocks.push_back(Paragraph{std::move(note), Tone::kNote});
  if (shown == ShownStrategies::kTwo)
    all.blocks.push_back(Paragraph{
        fmt::format("{}--all and -s NAME also show where the time goes, and the critical path.",
                    explanation.strategies.size() == strategies.size()
                        ? ""
                        : fmt::format("Details below are of {} and {}. ", strategies[0]->label, strategies[1]->label)),
        Tone::kNote});
  std::vector<Section> sections = {std::move(answer), std::move(all)};
  for (const StrategyExplanation* e : strategies) sections.push_back(strategy_section(explanation, *e, shown));
  return sections;
}

}  // namespace spscope
