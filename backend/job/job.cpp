#include "backend/job/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/execute/execute.h"
#include "backend/mask/pattern.h"
#include "backend/store/output_file.h"

namespace spscope {
namespace {

// Problems of every parameter that the config gives, also of patterns and strategies that do not run. `typed`: the
// strategies are those of -s, and their problems point there.
std::vector<Problem> parameter_problems(const RunConfig& config, bool typed) {
  std::vector<Problem> problems;
  const auto check = [&](const std::vector<Parameter>& rows, const std::string& owner, const ParameterTexts& texts,
                         const std::string& place) {
    std::vector<Problem> found;
    Parameters values(rows);
    for (const auto& [key, text] : texts) set_parameter(values, rows, key, text, owner, found);
    for (Problem& problem : found) {  // strategies that run bring those of their section once more
      if (std::ranges::any_of(
              problems, [&](const Problem& p) { return p.field == problem.field && p.message == problem.message; }))
        continue;
      problem.place.file = place;
      problems.push_back(std::move(problem));
    }
  };
  for (const auto& [name, texts] : config.pattern_parameters)
    if (const Pattern* pattern = find_pattern(name)) check(pattern->parameters(), "mask." + name, texts, "");
  for (const auto& [name, texts] : config.strategy_parameters)
    if (const Strategy* strategy = find_strategy(name)) check(strategy->parameters(), "strategy." + name, texts, "");
  for (const std::string& text : config.run.strategies) {
    const StrategyChoice choice = strategy_choice(config, text);
    if (const Strategy* strategy = find_strategy(choice.name))
      check(strategy->parameters(), "strategy." + choice.name, choice.parameters, typed ? "-s " + text : "");
  }
  return problems;
}

NameLists known_names(const JobFlags& flags, std::span<const Executor> executors) {
  NameLists names;
  names.check_parameters = [typed = !flags.strategies.empty()](const RunConfig& config) {
    return parameter_problems(config, typed);
  };
  for (const Executor& executor : executors)
    names.executors.push_back({executor.device, executor.backend, {executor.comms.begin(), executor.comms.end()}});
  for (const Pattern& pattern : patterns()) {
    names.patterns.push_back(pattern.name);
    for (const Parameter& row : pattern.parameters())
      names.parameter_keys.push_back(fmt::format("mask.{}.{}", pattern.name, row.name));
  }
  for (const Strategy& strategy : strategies()) {
    names.strategies.push_back(strategy.name);
    for (const Parameter& row : strategy.parameters())
      names.parameter_keys.push_back(fmt::format("strategy.{}.{}", strategy.name, row.name));
  }
  return names;
}

// -s is an override of run.strategies; its problems show what was typed.
Error as_typed(const Error& error, const JobFlags& flags) {
  if (flags.strategies.empty()) return error;
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems)
    if (problem.place.file.starts_with("--set run.strategies="))
      problem.place.file = fmt::format("-s {}", fmt::join(flags.strategies, " -s "));
  return problems.empty() ? error : Error(std::move(problems));
}

// The config of the flags, or all its problems.
LoadedConfig load(const JobFlags& flags, std::span<const Executor> executors) {
  if (!flags.config.empty() && file_kind(flags.config) == FileKind::kStore)
    throw Error(ErrorCode::kConfigFile, fmt::format("\"{}\" is a stored run, not a config", flags.config),
                fmt::format("spscope compare {0} or spscope report {0} shows it", flags.config));
  std::vector<std::string> overrides = flags.settings;
  if (!flags.strategies.empty())
    overrides.push_back(fmt::format("run.strategies={}", fmt::join(flags.strategies, ";")));
  Result<LoadedConfig> loaded = load_config(flags.config, overrides, known_names(flags, executors));
  if (!loaded) throw as_typed(loaded.error(), flags);
  return std::move(*loaded);
}

std::string unique_id(std::string_view name, const std::vector<ChosenStrategy>& chosen) {
  const auto same = std::ranges::count_if(chosen, [&](const ChosenStrategy& c) { return c.strategy->name == name; });
  return same == 0 ? std::string(name) : fmt::format("{}-{}", name, same + 1);
}

}  // namespace

Job load_job(const JobFlags& flags, std::int64_t max_memory_bytes, std::span<const Executor> executors) {
  LoadedConfig loaded = load(flags, executors);
  Job job;
  job.executors = executors;
  job.max_memory_bytes = max_memory_bytes;
  job.config = std::move(loaded.config);
  job.places = std::move(loaded.places);
  ResolvedConfig resolved = resolve(job.config);
  job.model = std::move(resolved.model);
  job.cluster = std::move(resolved.cluster);
  std::vector<Problem> none;  // load() found them all
  for (const std::string& text : job.config.run.strategies) {
    const StrategyChoice choice = strategy_choice(job.config, text);
    const Strategy* strategy = find_strategy(choice.name);
    const std::vector<Parameter> rows = strategy->parameters();
    Parameters parameters(rows);
    for (const auto& [key, value] : choice.parameters) set_parameter(parameters, rows, key, value, choice.name, none);
    job.strategies.push_back({unique_id(strategy->name, job.strategies), strategy, std::move(parameters)});
  }
  return job;
}

}  // namespace spscope
