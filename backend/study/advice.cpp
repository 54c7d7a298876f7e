#include "backend/study/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/analysis/comparison.h"
#include "backend/analysis/equal_plans.h"
#include "backend/analysis/judgement.h"
#include "backend/base/check.h"
#include "backend/job/weight_gather.h"
#include "backend/study/advice_words.h"
#include "backend/study/engine_choice.h"

namespace spscope {

const StrategyResult& Advice::result(const std::string& id) const {
  const StrategyResult* found = judged.find(id);
  SPSCOPE_CHECK(found != nullptr);
  return *found;
}

std::string Advice::best() const {
  return chosen.empty() || !judge(by_mode(judged).front()).refused.empty() ? "" : chosen;
}

std::vector<std::string_view> Advice::as_modelled(const std::string& id, const Engine* only) const {
  std::vector<std::string_view> ids = engines.at(id);
  std::erase_if(ids, [&](std::string_view e) {
    return (only != nullptr && e != only->id) || !runs_as_modelled(find_engine(e), result(id));
  });
  return ids;
}

namespace {

// How much is published of its dense times: 2 of several engines, 1 of one.
int measured(const Comparison& comparison, const StrategyResult& s) {
  const MachineKind kind = machine_kind(comparison.workload, comparison.cluster);
  if (!why_unmeasured(comparison.workload, kind, s, s).empty()) return 0;
  return s.name == "allgather_kv" ? 1 : 2;
}

// Those that the model cannot tell from the fastest.
std::span<const StrategyResult* const> level_of(const Judgement& judgement) {
  return std::span(judgement.ranked).first(static_cast<std::size_t>(std::max(1, judgement.level)));
}

// Advice::candidates, of an advice that has its engines. `engine`: that the answer is for; nullptr: any.
Comparison candidates(const Advice& advice, std::span<const StrategyResult* const> level, const Engine* engine) {
  const auto runs = [&](const std::string& id) {
    const auto found = advice.engines.find(id);
    return found != advice.engines.end() &&
           (engine == nullptr ? !found->second.empty() : std::ranges::count(found->second, engine->id) > 0);
  };
  Comparison some = advice.judged;
  if (std::ranges::any_of(level, [&](const StrategyResult* s) { return runs(s->id); })) return some;
  std::erase_if(some.strategies, [&](const StrategyResult& s) { return s.legal() && !runs(s.id); });
  const bool none = std::ranges::none_of(some.strategies, &StrategyResult::legal);
  return none ? advice.judged : some;
}

}  // namespace

std::string strategy_argument(const ChosenStrategy& chosen) {
  std::string text;
  for (const Parameter& row : chosen.strategy->parameters()) {
    if (!chosen.parameters.has(row.name)) continue;
    const ParameterValue& value = chosen.parameters.values().find(row.name)->second;
    if (value != row.default_value) text += fmt::format("{}{}={}", text.empty() ? ":" : ",", row.name, to_text(value));
  }
  return std::string(chosen.strategy->name) + text;
}

Advice advise(const Job& job, int seeds, const QuietRun& options, Divisions divisions, const Engine* engine) {
  Advice advice;
  advice.divisions = std::move(divisions);
  advice.runs =
      run_seeds(job, useful_seeds(job, seeds), options, engine == nullptr ? run_by_engines(job) : SettingTest());
  advice.judged = without_equal_plans(advice.runs.together);
  advice.division = {job.cluster.dp, job.cluster.guidance};
  const Judgement judgement = judge(by_mode(advice.judged).front());
  if (judgement.ranked.empty() || judgement.empty_masks) return advice;
  for (const StrategyResult* s : judgement.ranked)
    advice.engines[s->id] = engines_with(engine_setup(job, *s), job.config.model.preset);
  advice.fastest = judgement.ranked.front()->id;
  advice.candidates = candidates(advice, level_of(judgement), engine);
  const Judgement of_candidates = judge(by_mode(advice.candidates).front());
  const std::span<const StrategyResult* const> level = level_of(of_candidates);
  const auto rank = [&](const StrategyResult* s) {
    return std::pair(advice.as_modelled(s->id, engine).size(), measured(advice.judged, *s));
  };
  advice.chosen = (*std::ranges::max_element(level, {}, rank))->id;
  advice.reference = baseline(advice.judged.strategies, RunMode::kSimulate)->id;
  set_time(advice.divisions, job, advice.result(advice.chosen));
  const auto runner_up =
      std::ranges::find_if(judgement.ranked, [&](const StrategyResult* s) { return s->id != advice.chosen; });
  for (const ChosenStrategy& chosen : advice.runs.strategies) {
    if (chosen.id == advice.chosen) advice.argument = strategy_argument(chosen);
    if (chosen.id == advice.reference) advice.reference_argument = strategy_argument(chosen);
    if (runner_up != judgement.ranked.end() && chosen.id == (*runner_up)->id)
      advice.runner_up_argument = strategy_argument(chosen);
  }
  advice.speedup = speedup_over(advice.runs, advice.chosen, advice.reference);
  for (const StrategyResult* s : level)
    if (s->id != advice.chosen) advice.as_fast.push_back(s->label);
  advice.gather = gather_note(job);
  return advice;
}

}  // namespace spscope
