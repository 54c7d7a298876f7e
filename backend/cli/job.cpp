#include "backend/cli/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/mask/pattern.h"

namespace spscope {
namespace {

// Problems of every parameter that the config gives, also of patterns and strategies that do not run.
std::vector<Problem> parameter_problems(const RunConfig& config) {
  std::vector<Problem> problems;
  const auto check = [&](const std::vector<Parameter>& rows, const std::string& owner, const ParameterTexts& texts) {
    std::vector<Problem> found;
    Parameters values(rows);
    for (const auto& [key, text] : texts) set_parameter(values, rows, key, text, owner, found);
    for (Problem& problem : found)  // strategies that run bring those of their section once more
      if (std::ranges::none_of(
              problems, [&](const Problem& p) { return p.field == problem.field && p.message == problem.message; }))
        problems.push_back(std::move(problem));
  };
  for (const auto& [name, texts] : config.pattern_parameters)
    if (const Pattern* pattern = find_pattern(name)) check(pattern->parameters(), "mask." + name, texts);
  for (const auto& [name, texts] : config.strategy_parameters)
    if (const Strategy* strategy = find_strategy(name)) check(strategy->parameters(), "strategy." + name, texts);
  for (const std::string& text : config.run.strategies) {
    const StrategyChoice choice = strategy_choice(config, text);
    if (const Strategy* strategy = find_strategy(choice.name))
      check(strategy->parameters(), "strategy." + choice.name, choice.parameters);
  }
  return problems;
}

NameLists known_names() {
  NameLists names;
  names.check_parameters = parameter_problems;
  for (const Pattern& pattern : patterns()) names.patterns.push_back(pattern.name);
  for (const Strategy& strategy : strategies()) names.strategies.push_back(strategy.name);
  return names;
}

// The config of the flags, or all its problems.
LoadedConfig load(const JobFlags& flags) {
  std::vector<std::string> overrides = flags.settings;
  if (!flags.strategies.empty())
    overrides.push_back(fmt::format("run.strategies={}", fmt::join(flags.strategies, ";")));
  Result<LoadedConfig> loaded = load_config(flags.config, overrides, known_names());
  if (!loaded) throw loaded.error();
  return std::move(*loaded);
}

std::string unique_id(std::string_view name, const std::vector<ChosenStrategy>& chosen) {
  const auto same = std::ranges::count_if(chosen, [&](const ChosenStrategy& c) { return c.strategy->name == name; });
  return same == 0 ? std::string(name) : fmt::format("{}-{}", name, same + 1);
}

}  // namespace

Job load_job(const JobFlags& flags) {
  LoadedConfig loaded = load(flags);
  Job job;
  job.config = std::move(loaded.config);
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
