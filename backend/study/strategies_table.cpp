// The table of an advice: a row for each plan, and the engines that run it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "backend/analysis/equal_plans.h"
#include "backend/analysis/judgement.h"
#include "backend/report/format.h"
#include "backend/report/section.h"
#include "backend/study/advice_words.h"
#include "backend/study/engine_choice.h"
#include "backend/study/weight_layout.h"

namespace spscope {
namespace {

// Those in brackets run it otherwise than it is modelled.
std::string engines_cell(const Advice& advice, const std::string& id) {
  std::vector<std::string> list;
  for (const std::string_view engine : advice.engines.at(id)) {
    const bool as_it_is = runs_as_modelled(find_engine(engine), advice.result(id));
    list.push_back(as_it_is ? std::string(engine) : fmt::format("({})", engine));
  }
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
}

// Where the label stands in a text, as a whole: "usp u4 r2" does not stand in "usp u4 r2 cyclic".
bool is_named(const std::string& label, const std::string& text, const std::vector<const StrategyResult*>& all) {
  for (std::size_t at = text.find(label); at != text.npos; at = text.find(label, at + 1)) {
    const auto longer = [&](const StrategyResult* s) {
      const std::string other = own_label(*s);
      return other.size() > label.size() && text.compare(at, other.size(), other) == 0;
    };
    const auto ends_word = [&](std::size_t i) {
      return i >= text.size() || !std::isalnum(static_cast<unsigned char>(text[i]));
    };
    if (ends_word(at - 1) && ends_word(at + label.size()) && std::ranges::none_of(all, longer)) return true;
  }
  return false;
}

}  // namespace

Table strategies_table(const Advice& advice, const AdviceFacts& facts, bool all, std::size_t rows,
                       const std::vector<AdvicePart>& said) {
  const Judgement judgement = judge(by_mode(advice.judged).front());
  // A single row is compared with nothing.
  const bool ratios = judgement.ranked.size() > 1, seeds = ratios && advice.runs.seeds.size() > 1,
             engines = facts.engine == nullptr;
  Table table;
  table.best_is = "the one to use";
  table.columns = {text_column("strategy"), {"layer", "makespan"}};
  if (ratios) table.columns.push_back({"vs " + advice.result(advice.reference).name, "speedup"});
  if (seeds) table.columns.push_back(number_column("over seeds", "speedup", 3));
  const bool ranges = std::ranges::any_of(judgement.ranked, [](const StrategyResult* s) {
    return s->makespan_low_ns.has_value() && s->makespan_low_ns != s->makespan_high_ns;
  });
  if (ranges) table.columns.push_back({"over hosts", "makespan"});
  table.columns.push_back({"end to end", "end_to_end"});
  if (all)
    for (Column column : {number_column("compute", "compute", 1), number_column("late peer", "wait_late_peer", 1),
                          number_column("wire", "wire", 1), number_column("imbalance", "imbalance_ratio", 4),
                          number_column("sent/rank", "bytes_sent", 5)})
      table.columns.push_back(std::move(column));
  if (engines) table.columns.push_back(text_column("runs in"));
  std::vector<const StrategyResult*> shown = judgement.ranked;
  const StrategyResult *reference = &advice.result(advice.reference), *chosen = &advice.result(advice.chosen);
  const auto stays = [&](const StrategyResult* s) {
    return s == reference || s == chosen || std::ranges::any_of(said, [&](const AdvicePart& part) {
             const auto* words = std::get_if<Paragraph>(&part.block);
             return words != nullptr && part.drop == 0 && is_named(own_label(*s), words->text, judgement.ranked);
           });
  };
  for (auto at = shown.end(); shown.size() > rows && at != shown.begin();)
    if (--at; !stays(*at)) at = shown.erase(at);
  const bool named = !advice.best().empty() && fits_in(facts.engine, advice);
  for (const StrategyResult* s : shown) {
    const Spread speedup = speedup_over(advice.runs, s->id, advice.reference);
    const auto passes = static_cast<double>(s->by_layer.size());
    const auto a_layer = [&](const std::vector<std::int64_t>& by_rank, Hint hint) {
      const std::optional<double> sum = mean(by_rank);
      return cell(hint, sum ? std::optional(*sum / passes) : std::nullopt);
    };
    Row row{{text_cell(s->label), cell(Hint::kDuration, s->layer_pass_ns())}, named && s->id == advice.chosen};
    if (ratios) row.cells.push_back(cell(Hint::kSpeedup, speedup.mean));
    if (seeds) row.cells.push_back(text_cell(fmt::format("{:.2f}-{:.2f}x", speedup.least, speedup.most)));
    if (ranges) row.cells.push_back(text_cell(range_text(*s, passes)));
    row.cells.push_back(duration_cell(s->end_to_end_ns));
    if (all)
      for (Cell c : {a_layer(s->times.compute_ns, Hint::kDuration),
                     a_layer(s->times.wait_late_peer_ns, Hint::kDuration), a_layer(s->times.wire_ns, Hint::kDuration),
                     cell(Hint::kRatio, s->imbalance_ratio), a_layer(s->bytes_sent, Hint::kBytes)})
        row.cells.push_back(std::move(c));
    if (engines) row.cells.push_back(text_cell(engines_cell(advice, s->id)));
    table.rows.push_back(std::move(row));
  }
  const Workload& workload = advice.runs.together.workload;
  note_attention_alone(table, workload);
  const bool balanced = std::ranges::any_of(
      table.rows, [](const Row& row) { return row.cells.front().text.find(" = ") != std::string::npos; });
  constexpr double kDense = 0.9995;
  if (engines && std::ranges::any_of(shown, [&](const StrategyResult* s) {
        return advice.as_modelled(s->id).size() < advice.engines.at(s->id).size();
      }))
    table.notes.push_back(
        {"Engines in brackets run a ring in another way than it is modelled here (docs/engines.md).", {"runs in"}});
  if (balanced)
    table.notes.push_back({workload.density.value_or(1) >= kDense
                               ? "= has the same plan, since dense masks leave nothing to balance."
                               : "= comes to the same on these masks.",
                           {"strategy"}});
  return table;
}

}  // namespace spscope
