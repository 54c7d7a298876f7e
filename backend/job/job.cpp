#include "backend/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backend/execute/execute.h"
#include "backend/job/layer_masks.h"
#include "backend/mask/pattern.h"
#include "backend/store/output_file.h"
#include "collectors/collector.h"

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

NameLists known_names(const JobFlags& flags) {
  NameLists names;
  names.check_parameters = [typed = !flags.strategies.empty()](const RunConfig& config) {
    return parameter_problems(config, typed);
  };
  for (const Executor& executor : executors())
    names.executors.push_back({executor.device, executor.backend, {executor.comms.begin(), executor.comms.end()}});
  for (const CollectorRow& collector : collectors())
    (collector.in_runs ? names.collectors : names.collectors_of_programs).push_back(collector.name);
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

// Puts `to` in the place of each `from`.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

// The place of a key that a flag of its own sets shows that flag.
void set_typed(std::string& place, const std::string& key, const std::string& flag) {
  if (place.starts_with(fmt::format("--set {}=", key)))
    place = fmt::format("{} {}", flag, place.substr(place.find('=') + 1));
}

// Flags are overrides of keys, as -s is of run.strategies; their problems show what was typed.
Error as_typed(const Error& error, const JobFlags& flags) {
  std::vector<Problem> problems = error.problems();
  for (Problem& problem : problems) {
    std::string& place = problem.place.file;
    if (!flags.strategies.empty() && place.starts_with("--set run.strategies="))
      place = fmt::format("-s {}", fmt::join(flags.strategies, " -s "));
    for (const auto& [key, flag] : flags.flags) {
      set_typed(place, key, flag);
      if (problem.field == key) problem.field = flag;
      replace_all(problem.hint, fmt::format(", {} = ", key), fmt::format(" {} ", flag));
      replace_all(problem.hint, fmt::format("{} = ", key), fmt::format("{} ", flag));
    }
  }
  return problems.empty() ? error : Error(std::move(problems));
}

// The config of the flags, or all its problems.
LoadedConfig load(const JobFlags& flags) {
  if (!flags.config.empty() && file_kind(flags.config) == FileKind::kStore)
    throw Error(ErrorCode::kConfigFile, fmt::format("\"{}\" is a stored run, not a config", flags.config),
                fmt::format("spscope compare {0} or spscope report {0} shows it", flags.config));
  std::vector<std::string> overrides = flags.settings;
  if (!flags.strategies.empty())
    overrides.push_back(fmt::format("run.strategies={}", fmt::join(flags.strategies, ";")));
  Result<LoadedConfig> loaded = load_config(flags.config, overrides, known_names(flags));
  if (!loaded) throw as_typed(loaded.error(), flags);
  return std::move(*loaded);
}

// What "auto" means for this config. The masks of a file need not be those of the whole model.
LayerChoice default_layers(const RunConfig& config, const Model& model) {
  const bool from_files = !config.mask.file.empty() || !config.model.activations.empty();
  if (config.run.mode != RunMode::kSimulate || from_files) return kDefaultFirst;
  return LayerChoice::spread(std::min(kDefaultSpread, model.layers));
}

// With the parameters of the config and, where `choice` is an element of run.strategies, its own.
ChosenStrategy chosen_strategy(const Strategy& strategy, const StrategyChoice& choice, bool from_all) {
  const std::vector<Parameter> rows = strategy.parameters();
  Parameters parameters(rows);
  std::vector<Problem> none;  // load() found them all
  for (const auto& [key, value] : choice.parameters) set_parameter(parameters, rows, key, value, choice.name, none);
  return {"", &strategy, std::move(parameters), from_all, {}};
}

// What kAllStrategies stands for. One rank has nothing to share out: the baseline says all.
void add_all_strategies(Job& job) {
  constexpr std::string_view kBaseline = "single";
  for (const Strategy& strategy : strategies())
    if ((strategy.name == kBaseline) == (job.cluster.plan_ranks() == 1))
      job.strategies.push_back(chosen_strategy(strategy, strategy_choice(job.config, strategy.name), true));
}

// Asked for twice, it runs and is shown once.
void add_named(Job& job, ChosenStrategy chosen) {
  const bool known = std::ranges::any_of(job.strategies, [&](const ChosenStrategy& c) {
    return !c.from_all && c.strategy == chosen.strategy && c.parameters == chosen.parameters;
  });
  if (!known) job.strategies.push_back(std::move(chosen));
}

}  // namespace

void give_ids(std::vector<ChosenStrategy>& strategies) {
  std::map<std::string_view, int> count;
  for (ChosenStrategy& c : strategies) {
    const int number = ++count[c.strategy->name];
    c.id = number == 1 ? std::string(c.strategy->name) : fmt::format("{}-{}", c.strategy->name, number);
  }
}

Job load_job(const JobFlags& flags, std::int64_t max_memory_bytes) {
  LoadedConfig loaded = load(flags);
  Job job;
  job.max_memory_bytes = max_memory_bytes;
  job.config = std::move(loaded.config);
  job.places = std::move(loaded.places);
  for (const auto& [key, flag] : flags.flags)
    if (const auto place = job.places.find(key); place != job.places.end()) set_typed(place->second.file, key, flag);
  if (MaskConfig& mask = job.config.mask; !mask.file.empty())
    mask.kernel = kernel_of_mask_file(input_path(job.config, mask.file), mask_reading(mask));
  ResolvedConfig resolved = resolve(job.config);
  job.model = std::move(resolved.model);
  job.cluster = std::move(resolved.cluster);
  LayerChoice& layers = job.config.run.layers;
  if (layers.kind == LayerChoice::Kind::kAuto) layers = default_layers(job.config, job.model);
  job.layers = chosen_layers(layers, job.model.layers, job.model.first_single_layer());
  for (const std::string& text : job.config.run.strategies) {
    const StrategyChoice choice = strategy_choice(job.config, text);
    if (choice.name == kAllStrategies)
      add_all_strategies(job);
    else
      add_named(job, chosen_strategy(*find_strategy(choice.name), choice, false));
  }
  give_ids(job.strategies);
  return job;
}

}  // namespace spscope
