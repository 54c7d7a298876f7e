#include "backend/study/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/judgement.h"
#include "backend/analysis/trust.h"
#include "backend/base/check.h"
#include "backend/job/weight_gather.h"
#include "backend/report/conclusion.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/refused.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

Judgement judgement_of(const Comparison& comparison) { return judge(by_mode(comparison).front()); }

// How many times as fast as the reference, in each seed.
Spread speedup_over(const SeededRuns& runs, const std::string& id, const std::string& reference) {
  std::vector<double> ratios;
  for (const Comparison& c : runs.by_seed) {
    const StrategyResult *s = c.find(id), *first = c.find(reference);
    if (s && first && s->makespan_ns && first->makespan_ns && *s->makespan_ns > 0)
      ratios.push_back(static_cast<double>(*first->makespan_ns) / static_cast<double>(*s->makespan_ns));
  }
  return spread_of(ratios);
}

std::string joined_names(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// "a layer 1.33x as fast as with ulysses u8 (1.28x to 1.36x over 3 seeds), end to end 1.29x"
std::string speedup_text(const Advice& advice) {
  const Spread& s = advice.speedup;
  const StrategyResult &fastest = advice.result(advice.fastest), &reference = advice.result(advice.reference);
  std::string text = fmt::format("a layer {:.2f}x as fast as with {}", s.mean, reference.label);
  if (s.count > 1) text += fmt::format(" ({:.2f}x to {:.2f}x over {} seeds)", s.least, s.most, s.count);
  if (fastest.end_to_end_ns && reference.end_to_end_ns && *fastest.end_to_end_ns > 0)
    text += fmt::format(", end to end {:.2f}x",
                        static_cast<double>(*reference.end_to_end_ns) / static_cast<double>(*fastest.end_to_end_ns));
  return text;
}

std::string recommendation(const Advice& advice, const Judgement& judgement) {
  const StrategyResult& fastest = advice.result(advice.fastest);
  std::vector<std::string> refused;
  for (const StrategyResult* s : judgement.refused) refused.push_back(s->name);
  std::string text =
      refused.empty()
          ? "By the model, use "
          : fmt::format(
                "No winner is named, since {} was asked for and cannot run. By the model, fastest of the others is ",
                joined_names(refused));
  text += fmt::format("{}{}: {} a layer", fastest.label, support_mark(judgement),
                      duration_text(fastest.layer_pass_ns().value_or(0)));
  if (fastest.end_to_end_ns)
    text += fmt::format(", {} end to end", duration_text(static_cast<double>(*fastest.end_to_end_ns)));
  if (advice.fastest != advice.reference) text += ", " + speedup_text(advice);
  const auto& [dp, guidance] = advice.division;
  if (guidance > 1)
    text += fmt::format(", with {} passes of guidance at once, each on its part of the ranks (cluster.guidance = {})",
                        guidance, guidance);
  if (dp > 1) text += fmt::format(", in {} replicas (cluster.dp = {})", dp, dp);
  return text + ".";
}

// What the lead over the others is worth.
std::string certainty(const Advice& advice, const Judgement& judgement) {
  if (judgement.lead == Lead::kDepends)
    return fmt::format(
        "That is with the middle of the network's range, but it depends: {} is fastest with its fast end, {} with its "
        "slow end.",
        judgement.at_low->label, judgement.at_high->label);
  if (!advice.as_fast.empty())
    return fmt::format("The model cannot tell it from {}: within {}, the error of ratios on such machines ({}).",
                       joined_names(advice.as_fast), percent_text(judgement.error->median), judgement.error->from);
  if (judgement.ranked.size() < 2)
    return advice.runs.strategies.size() < 2 ? "It was not compared with another strategy."
                                             : "No other strategy can run here.";
  const double ahead = static_cast<double>(*judgement.ranked[1]->makespan_ns) /
                           static_cast<double>(std::max<std::int64_t>(1, *judgement.ranked[0]->makespan_ns)) -
                       1;
  std::string text = fmt::format("The next, {}, takes {} longer", judgement.ranked[1]->label, percent_text(ahead));
  if (judgement.error)
    text += fmt::format("; differences below {} are not ranked, the error of ratios on such machines ({})",
                        percent_text(judgement.error->median), judgement.error->from);
  return text + ".";
}

// Of the layer: what a mean layer pass takes.
Table strategies_table(const Advice& advice, const Judgement& judgement) {
  const bool seeds = advice.runs.seeds.size() > 1;
  Table table;
  table.columns = {
      text_column("strategy"), {"layer", "makespan"}, {"vs " + advice.result(advice.reference).name, "speedup"}};
  if (seeds) table.columns.push_back(number_column("over seeds", "speedup", 2));
  const bool ranges = std::ranges::any_of(judgement.ranked, [](const StrategyResult* s) {
    return s->makespan_low_ns.has_value() && s->makespan_low_ns != s->makespan_high_ns;
  });
  if (ranges) table.columns.push_back({"range", "makespan"});
  for (Column column : {Column{"end to end", "end_to_end"}, number_column("compute", "compute", 1),
                        number_column("late peer", "wait_late_peer", 1), number_column("wire", "wire", 1),
                        number_column("imbalance", "imbalance_ratio", 3), number_column("sent/rank", "bytes_sent", 4)})
    table.columns.push_back(std::move(column));
  const std::string best = advice.best();
  for (const StrategyResult* s : judgement.ranked) {
    const Spread speedup = speedup_over(advice.runs, s->id, advice.reference);
    const auto passes = static_cast<double>(s->by_layer.size());
    const auto a_layer = [&](const std::vector<std::int64_t>& by_rank, Hint hint) {
      const std::optional<double> sum = mean(by_rank);
      return cell(hint, sum ? std::optional(*sum / passes) : std::nullopt);
    };
    Row row{{text_cell(s->label), cell(Hint::kDuration, s->layer_pass_ns()), cell(Hint::kSpeedup, speedup.mean)},
            s->id == best};
    if (seeds) row.cells.push_back(text_cell(fmt::format("{:.2f}-{:.2f}x", speedup.least, speedup.most)));
    if (ranges) row.cells.push_back(text_cell(range_text(*s, passes)));
    for (Cell c : {duration_cell(s->end_to_end_ns), a_layer(s->times.compute_ns, Hint::kDuration),
                   a_layer(s->times.wait_late_peer_ns, Hint::kDuration), a_layer(s->times.wire_ns, Hint::kDuration),
                   cell(Hint::kRatio, s->imbalance_ratio), a_layer(s->bytes_sent, Hint::kBytes)})
      row.cells.push_back(std::move(c));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

const StrategyResult& Advice::result(const std::string& id) const {
  const StrategyResult* found = runs.together.find(id);
  SPSCOPE_CHECK(found != nullptr);
  return *found;
}

std::string Advice::best() const {
  return fastest.empty() || !judgement_of(runs.together).refused.empty() ? "" : fastest;
}

const StrategyResult* reference_of(const Comparison& comparison) {
  const std::vector<StrategyResult>& all = comparison.strategies;
  const auto no_ulysses = [](const StrategyResult& s) { return s.name == "ulysses" && !s.legal(); };
  const Judgement judgement = judgement_of(comparison);
  if (std::ranges::any_of(all, no_ulysses))
    for (const char* name : {"usp", "ring"})
      if (const auto found = std::ranges::find(judgement.ranked, name, &StrategyResult::name);
          found != judgement.ranked.end())
        return *found;
  return baseline(all, RunMode::kSimulate);
}

std::string strategy_argument(const ChosenStrategy& chosen) {
  std::string text;
  for (const Parameter& row : chosen.strategy->parameters()) {
    if (!chosen.parameters.has(row.name)) continue;
    const ParameterValue& value = chosen.parameters.values().find(row.name)->second;
    if (value != row.default_value) text += fmt::format("{}{}={}", text.empty() ? ":" : ",", row.name, to_text(value));
  }
  return std::string(chosen.strategy->name) + text;
}

Advice advise(const Job& job, int seeds, const QuietRun& options, Divisions divisions) {
  Advice advice;
  advice.divisions = std::move(divisions);
  advice.runs = run_seeds(job, useful_seeds(job, seeds), options);
  advice.division = {job.cluster.dp, job.cluster.guidance};
  const Judgement judgement = judgement_of(advice.runs.together);
  if (judgement.ranked.empty()) {
    advice.sentences = {"Nothing can run here; below are the reasons, and what would."};
    return advice;
  }
  if (judgement.empty_masks) {
    advice.sentences = {"The masks attend nothing (density 0): there is nothing to compare."};
    return advice;
  }
  advice.fastest = judgement.ranked.front()->id;
  advice.reference = reference_of(advice.runs.together)->id;
  for (const ChosenStrategy& chosen : advice.runs.strategies) {
    if (chosen.id == advice.fastest) advice.fastest_argument = strategy_argument(chosen);
    if (chosen.id == advice.reference) advice.reference_argument = strategy_argument(chosen);
  }
  advice.speedup = speedup_over(advice.runs, advice.fastest, advice.reference);
  for (int i = 1; i < judgement.level; ++i)
    advice.as_fast.push_back(judgement.ranked[static_cast<std::size_t>(i)]->label);
  advice.sentences = {recommendation(advice, judgement), certainty(advice, judgement)};
  if (std::string unmeasured = unmeasured_sentence(judgement); !unmeasured.empty())
    advice.sentences.push_back(std::move(unmeasured));
  if (std::string gather = gather_note(job); !gather.empty()) advice.sentences.push_back(std::move(gather));
  if (std::string ties = tied_divisions_sentence(advice.divisions, judgement.error ? judgement.error->median : 0);
      !ties.empty())
    advice.sentences.push_back(std::move(ties));
  if (std::string more = throughput_sentence(advice.divisions, judgement.error ? judgement.error->median : 0);
      !more.empty())
    advice.sentences.push_back(std::move(more));
  return advice;
}

std::string question_line(const Advice& advice) {
  const Comparison& c = advice.runs.together;
  std::string line = workload_line(c.workload, executes(c));
  if (c.workload.scope == "layer") line += ", whole layers";
  if (advice.runs.seeds.size() > 1) line += fmt::format(", {} seeds", advice.runs.seeds.size());
  return line;
}

Section what_if_section(const Advice& as_it_is, const Advice& then, const WhatIf& what_if) {
  Section section = what_if_section(as_it_is.runs.together, then.runs.together, what_if, OfPasses::kMean);
  if (std::string text = other_division_sentence(as_it_is.divisions, then.divisions, what_if.text); !text.empty())
    section.blocks.push_back(Paragraph{std::move(text), Tone::kConclusion});
  return section;
}

Section advice_section(const Advice& advice) {
  Section section{"advice", "Advice", {}};
  const Comparison& all = advice.runs.together;
  if (!advice.fastest.empty()) {
    const Judgement judgement = judgement_of(all);
    Table table = strategies_table(advice, judgement);
    note_attention_alone(table, all.workload);
    section.blocks.push_back(std::move(table));
    for (Sentence& sentence : reason_sentences(judgement, OfPasses::kMean))
      section.blocks.push_back(paragraph(std::move(sentence), Tone::kReason));
  }
  if (Table table = divisions_table(advice.divisions); !table.rows.empty()) section.blocks.push_back(std::move(table));
  if (!advice.fastest.empty()) {
    const StrategyResult& fastest = advice.result(advice.fastest);
    if (fastest.end_to_end_ns && fastest.outside_layers_ns)
      section.blocks.push_back(Paragraph{fmt::format("Of every end-to-end time {} are outside of the layers.",
                                                     duration_text(static_cast<double>(*fastest.outside_layers_ns))),
                                         Tone::kNote});
  }
  std::vector<const StrategyResult*> strategies;
  for (const StrategyResult& s : all.strategies) strategies.push_back(&s);
  if (std::string memory = memory_line(strategies); !memory.empty())
    section.blocks.push_back(Paragraph{std::move(memory), Tone::kNote});
  if (const std::string refused = refused_text(strategies); !refused.empty())
    section.blocks.push_back(Paragraph{"Not possible here: " + refused + ".", Tone::kNote});
  return section;
}

}  // namespace spscope
