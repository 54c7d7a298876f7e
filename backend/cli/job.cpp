#include "backend/cli/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/mask/pattern.h"

namespace spscope {
namespace {

NameLists known_names() {
  NameLists names;
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
  std::vector<Problem> problems;
  for (const std::string& text : job.config.run.strategies) {
    const StrategyChoice choice = strategy_choice(job.config, text);
    const Strategy* strategy = find_strategy(choice.name);
    if (!strategy) throw Error(ErrorCode::kConfigUnknownName, fmt::format("there is no strategy \"{}\"", choice.name));
    const std::vector<Parameter> rows = strategy->parameters();
    Parameters parameters(rows);
    for (const auto& [key, value] : choice.parameters)
      set_parameter(parameters, rows, key, value, fmt::format("strategy.{}", choice.name), problems);
    job.strategies.push_back({unique_id(strategy->name, job.strategies), strategy, std::move(parameters)});
  }
  locate(problems, loaded.places);
  if (!problems.empty()) throw Error(std::move(problems));
  return job;
}

}  // namespace spscope
