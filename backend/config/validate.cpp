// Checks across keys: names, sizes that must fit together, and choices that this version does not offer.
#include "backend/config/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <sstream>

#include "backend/base/nearest_name.h"
#include "backend/config/parallel_settings.h"
#include "backend/config/toml_text.h"

namespace spscope {
namespace {

constexpr std::string_view kAll = "all";  // in run.strategies

class Validator {
 public:
  Validator(const RunConfig& config, const NameLists& names, const std::set<std::string, std::less<>>& faulty)
      : config_(config), names_(names), faulty_(faulty) {}

  std::vector<Problem> run() {
    check_model();
    check_mask();
    check_cluster();
    check_run();
    check_strategies();
    check_collect();
    check_parameters();
    return std::move(problems_);
  }

 private:
  bool sound(std::initializer_list<std::string_view> fields) const {
    return std::none_of(fields.begin(), fields.end(), [&](std::string_view f) { return faulty_.contains(f); });
  }
  // Whether no key of the section is at fault.
  bool sound_section(std::string_view prefix) const {
    const auto first = faulty_.lower_bound(prefix);
    return first == faulty_.end() || !std::string_view(*first).starts_with(prefix);
  }
  void report(ErrorCode code, std::string_view field, std::string message, std::string hint = {}) {
    problems_.push_back({code, std::string(field), std::move(message), std::move(hint)});
  }
  void check_name(std::string_view field, std::string_view value, std::span<const std::string_view> known,
                  std::string_view what) {
    if (known.empty() || !sound({field}) || std::find(known.begin(), known.end(), value) != known.end()) return;
    const std::string near = value.size() <= 80 ? nearest_name(value, known) : "";
    report(ErrorCode::kConfigUnknownName, field, fmt::format("\"{}\" is not {}", shown(value), what),
           near.empty() ? fmt::format("use one of {}", fmt::join(known, ", "))
                        : fmt::format("did you mean \"{}\"?", near));
  }

  void check_model() {
    if (!sound_section("model.")) {  // sizes cannot be judged, the name can
      check_name("model.preset", config_.model.preset, model_preset_names(), "a model");
      return;
    }
    const std::size_t known = problems_.size();
    const Model model = resolve_model(config_.model, problems_);
    if (problems_.size() != known) return;
    if (sound({"mask.temporal_pattern"}) && !config_.mask.temporal_pattern.empty() && !model.spatiotemporal())
      report(ErrorCode::kConfigConflict, "mask.temporal_pattern",
             fmt::format("{} has no temporal axis of its own: its attention is over all frames", model.name),
             "leave temporal_pattern out, or use a spatiotemporal model (st-mini, dsp-720m, open-sora-1.2)");
    if (sound({"run.layers"})) check_layers(model);
    if (model.spatiotemporal() && sound({"model.activations"}) && !config_.model.activations.empty())
      report(ErrorCode::kConfigConflict, "model.activations",
             "activations of a file are for models with one attended sequence",
             "use a model that is not spatiotemporal");
  }

  void check_layers(const Model& model) {
    const LayerChoice& choice = config_.run.layers;
    if (choice.count > model.layers)
      return report(ErrorCode::kConfigConflict, "run.layers",
                    fmt::format("{} layers are to run, but the model has {}", choice.count, model.layers), "");
    for (const int layer : choice.list)
      if (layer >= model.layers)
        return report(ErrorCode::kConfigConflict, "run.layers",
                      fmt::format("layer {} is to run, but the model has {}", layer, model.layers),
                      fmt::format("layers are counted from 0: the last one is {}", model.layers - 1));
  }

  void check_mask() {
    const MaskConfig& mask = config_.mask;
    if (sound({"mask.density"}) && mask.density <= 0)
      report(ErrorCode::kConfigRange, "mask.density", "the density must be above 0",
             "a share of all query-key pairs: 0.4");
    const MaskConfig usual;
    const std::pair<std::string_view, bool> of_files[] = {{"mask.as", mask.as != usual.as},
                                                          {"mask.array", mask.array != usual.array},
                                                          {"mask.counts", mask.counts != usual.counts},
                                                          {"mask.starts", mask.starts != usual.starts},
                                                          {"mask.delta", mask.delta != usual.delta},
                                                          {"mask.axes", mask.axes != usual.axes},
                                                          {"mask.batch", mask.batch != usual.batch},
                                                          {"mask.q_block", mask.q_block != usual.q_block},
                                                          {"mask.key_block", mask.key_block != usual.key_block}};
    for (const auto& [key, given] : of_files)
      if (given && mask.file.empty() && sound({"mask.file", key}))
        report(ErrorCode::kConfigConflict, key, "it says what a mask file holds, and there is no mask.file",
               "give mask.file, or leave it out");
    check_pattern("mask.pattern", mask.pattern);
    if (!mask.temporal_pattern.empty()) check_pattern("mask.temporal_pattern", mask.temporal_pattern);
    for (const auto& [name, values] : config_.pattern_parameters)
      check_name("mask." + name, name, names_.patterns, "a mask pattern");
  }

  void check_pattern(std::string_view field, const std::string& value) {
    const std::size_t colon = value.find(':');
    if (colon == std::string::npos || !sound({field}))
      return check_name(field, value, names_.patterns, "a mask pattern");
    const std::string name = shown(value.substr(0, colon));
    report(
        ErrorCode::kConfigUnknownName, field, fmt::format("\"{}\" is not a mask pattern", shown(value)),
        fmt::format("parameters of a pattern belong in a section of their own: [mask.{0}], or --set mask.{0}.KEY=VALUE",
                    name));
  }

  // "usp(4,2)" is how papers write it.
  bool check_parentheses(const std::string& text) {
    const std::size_t open = text.find('(');
    if (open == std::string::npos) return false;
    report(ErrorCode::kConfigUnknownName, "run.strategies", fmt::format("\"{}\" is not a strategy", shown(text)),
           "parameters follow a colon, each with its name: usp(4,2) is usp:ulysses=4,ring=2");
    return true;
  }

  // "ring,usp:ulysses=2": commas stand between parameters, not between strategies.
  bool check_several(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = text.find(',', begin);
      const std::string part = text.substr(begin, end - begin);
      const bool is_parameter = part.find('=') < part.find(':');
      if (is_parameter && !parts.empty())
        parts.back() += "," + part;
      else
        parts.push_back(part);
    }
    const auto is_known = [&](const std::string& part) {
      const std::vector<std::string_view> names = all_strategies();
      return std::ranges::find(names, std::string_view(part).substr(0, part.find(':'))) != names.end();
    };
    if (parts.size() < 2 || !std::ranges::all_of(parts, is_known)) return false;
    report(ErrorCode::kConfigUnknownName, "run.strategies", fmt::format("\"{}\" is not a strategy", shown(text)),
           fmt::format("write each by itself: -s {}, or in a file strategies = [\"{}\"]", fmt::join(parts, " -s "),
                       fmt::join(parts, "\", \"")));
    return true;
  }

  void check_cluster() {
    if (!sound_section("cluster.")) return;
    const std::size_t known = problems_.size();
    const Cluster cluster = resolve_cluster(config_, problems_);
    if (problems_.size() != known || cluster.guidance == 1 || !sound_section("model.")) return;
    std::vector<Problem> of_model;
    const Model model = resolve_model(config_.model, of_model);
    if (of_model.empty()) check_guidance(model, cluster, problems_);
  }

  void check_run() {
    const RunSection& run = config_.run;
    check_executor(run);
    if (sound({"run.scope", "model.activations"}) && run.scope == RunScope::kLayer &&
        !config_.model.activations.empty())
      report(ErrorCode::kConfigConflict, "run.scope",
             "a whole layer makes its q, k and v itself, and model.activations gives them",
             "use scope = attention, or leave activations out");
  }

  // Each key against what the keys before it leave.
  void check_executor(const RunSection& run) {
    std::vector<std::string_view> devices, backends, comms;
    for (const ExecutorNames& executor : names_.executors) {
      if (std::ranges::find(devices, executor.device) == devices.end()) devices.push_back(executor.device);
      if (executor.device != run.device) continue;
      backends.push_back(executor.backend);
      if (executor.backend != run.backend) continue;
      comms = executor.comms;
      comms.insert(comms.begin(), "auto");
    }
    check_name("run.device", run.device, devices, "a device");
    check_name("run.backend", run.backend, backends, "a backend");
    check_name("run.comm", run.comm, comms, "a communicator");
  }

  void check_strategies() {
    for (const auto& [name, values] : config_.strategy_parameters)
      check_name("strategy." + name, name, names_.strategies, "a strategy");
    if (!sound({"run.strategies"})) return;
    for (const std::string& text : config_.run.strategies) {
      if (check_parentheses(text) || check_several(text)) continue;
      const StrategyChoice choice = strategy_choice(config_, text);
      if (choice.name.empty())
        report(ErrorCode::kConfigType, "run.strategies",
               fmt::format("\"{}\" has not the form NAME or NAME:key=value,...", shown(text)),
               "for example usp:ulysses=2,ring=2");
      else if (choice.name == kAll && !choice.parameters.empty())
        report(ErrorCode::kConfigType, "run.strategies", "\"all\" takes no parameters",
               "[strategy.NAME] gives those of one strategy: --set strategy.usp.ulysses=4");
      else if (choice.name != kAll)
        check_name("run.strategies", choice.name, all_strategies(), "a strategy");
    }
  }

  void check_collect() {
    if (names_.collectors.empty() || !sound({"run.collect"})) return;
    const std::vector<std::string>& asked = config_.run.collect;
    std::vector<std::string_view> names = names_.collectors;
    names.insert(names.begin(), {kAutoCollect, kCollectNone});
    for (const std::string& name : asked) {
      if (check_collector_of_programs(name) || check_list_of_collectors(name, names)) continue;
      check_name("run.collect", name, names, "a collector");
      if (asked.size() > 1 && (name == kAutoCollect || name == kCollectNone))
        report(ErrorCode::kConfigConflict, "run.collect",
               fmt::format("\"{}\" stands beside names of collectors", shown(name)),
               fmt::format("use it alone, as in --set run.collect={}, or leave it out", name));
    }
    if (config_.run.mode != RunMode::kExecute && !asked.empty() && asked.front() != kAutoCollect &&
        asked.front() != kCollectNone)
      report(ErrorCode::kConfigConflict, "run.collect",
             fmt::format("collectors watch devices while ranks run on them, which mode = {} does not",
                         choice_name(config_.run.mode)),
             "use run.mode = execute, or leave run.collect out");
  }

  bool is_of_programs(const std::string& name) const {
    const auto& others = names_.collectors_of_programs;
    return std::ranges::find(others, name) != others.end();
  }

  bool check_collector_of_programs(const std::string& name) {
    if (!is_of_programs(name)) return false;
    report(ErrorCode::kConfigConflict, "run.collect",
           fmt::format("{} has nothing to collect in runs of plans, whose ranks move data without it", name),
           fmt::format("leave {} out; spscope attach -o OUT -- PROGRAM collects it of programs", name));
    return true;
  }

  // "nvml,events": a list is written as in a file.
  bool check_list_of_collectors(const std::string& text, const std::vector<std::string_view>& names) {
    if (text.find(',') == std::string::npos) return false;
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
      part.erase(0, part.find_first_not_of(' '));
      part.erase(part.find_last_not_of(' ') + 1);
      if (std::ranges::find(names, part) == names.end() && !is_of_programs(part)) return false;
      parts.push_back(fmt::format("\"{}\"", part));
    }
    report(
        ErrorCode::kConfigUnknownName, "run.collect", fmt::format("\"{}\" is not a collector", shown(text)),
        fmt::format("write a list: --set 'run.collect=[{0}]', or in a file collect = [{0}]", fmt::join(parts, ", ")));
    return true;
  }

  // Names of run.strategies; none where none are known.
  std::vector<std::string_view> all_strategies() const {
    std::vector<std::string_view> names = names_.strategies;
    if (!names.empty()) names.push_back(kAll);
    return names;
  }

  void check_parameters() {
    if (!names_.check_parameters) return;
    for (Problem& problem : names_.check_parameters(config_)) problems_.push_back(std::move(problem));
  }

  const RunConfig& config_;
  const NameLists& names_;
  const std::set<std::string, std::less<>>& faulty_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> validate(const RunConfig& config, const NameLists& names,
                              const std::set<std::string, std::less<>>& faulty) {
  return Validator(config, names, faulty).run();
}

ResolvedConfig resolve(const RunConfig& config) {
  std::vector<Problem> problems;
  ResolvedConfig resolved = {resolve_model(config.model, problems), resolve_cluster(config, problems)};
  if (!problems.empty()) throw Error(std::move(problems));
  return resolved;
}

}  // namespace spscope
