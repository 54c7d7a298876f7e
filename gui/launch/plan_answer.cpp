#include "gui/launch/plan_answer.h"

#include <algorithm>
#include <charconv>

#include "backend/config/layer_choice.h"
#include "gui/launch/child.h"
#include "gui/launch/json_numbers.h"

namespace spscope::gui {
namespace {

std::vector<Problem> problems_of(const Json* list) {
  std::vector<Problem> problems;
  if (list == nullptr || !list->is_array()) return problems;
  for (const Json& one : *list)
    problems.push_back(
        {ErrorCode::kConfigConflict, one.text_or("field", ""), one.text_or("message", ""), one.text_or("hint", "")});
  return problems;
}

void read_memory(const Json& object, PlannedStrategy& strategy) {
  const Json* need = object.find("memory_need");
  if (need == nullptr || !need->is_object()) return;
  strategy.memory_limit_bytes = number_at(*need, "limit_bytes");
  if (const Json* ranks = need->find("bytes_by_rank"))
    for (const Json& rank : *ranks) {
      double sum = 0;
      for (const std::string_view part : {"activations", "weights", "staging", "reserved", "text_encoder", "other"})
        sum += number_at(rank, part).value_or(0);
      strategy.memory_bytes = std::max(strategy.memory_bytes.value_or(0), sum);
    }
}

// Numbers that are equal have equal text.
std::string plain_value(const std::string& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() ? std::to_string(number) : text;
}

// Name and all parameters of a strategy as it is planned.
std::string setting_of(const std::string& text, const RunConfig& config, const Catalog& catalog) {
  const StrategyChoice choice = strategy_choice(config, text);
  ParameterTexts values = choice.parameters;
  for (const CatalogRow& row : catalog.strategies)
    if (row.name == choice.name)
      for (const CatalogParameter& parameter : row.parameters) values.emplace(parameter.name, parameter.fallback);
  std::string setting = choice.name;
  for (const auto& [name, value] : values) setting += "," + name + "=" + plain_value(value);
  return setting;
}

PlannedStrategy planned_of(const Json& one) {
  PlannedStrategy strategy;
  strategy.name = one.text_or("name", "");
  strategy.label = one.text_or("label", strategy.name);
  strategy.problems = problems_of(one.find("problems"));
  strategy.legal = one.find("reason") == nullptr || !one.find("reason")->is_text();
  if (!strategy.legal && strategy.problems.empty())
    strategy.problems.push_back({ErrorCode::kStrategyIllegal, "", one.text_or("reason", ""), ""});
  read_memory(one, strategy);
  if (!strategy.legal) return strategy;
  strategy.imbalance = number_at(one, "imbalance_ratio");
  strategy.makespan_ns = number_at(one, "makespan_ns");
  strategy.sent_bytes = mean_of(one.find("bytes_sent"));
  return strategy;
}

}  // namespace

std::vector<AskedStrategy> planned_strategies(const RunForm& form, const Catalog& catalog) {
  if (form.all_settings()) return {{"all"}};
  std::vector<std::string> names = form.strategies();
  for (const CatalogRow& row : catalog.strategies)
    if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
  std::vector<AskedStrategy> asked;
  std::vector<std::string> settings;  // that differ
  for (const std::string& name : names) {
    const std::string setting = setting_of(name, form.config(), catalog);
    const auto same = std::ranges::find(settings, setting);
    asked.push_back({name, static_cast<int>(same - settings.begin())});
    if (same == settings.end()) settings.push_back(setting);
  }
  return asked;
}

std::vector<std::string> plan_words(const std::string& program, const RunForm& form, const Catalog& catalog) {
  const RunConfig& config = form.config();
  const bool simulated = config.run.mode == RunMode::kSimulate;
  std::vector<std::string> words = {program, simulated ? "run" : "plan", "--json"};
  if (simulated) words.insert(words.end(), {"--progress", "none"});
  std::vector<std::string> asked = form.arguments();
  if (const auto first = std::ranges::find(asked, "-s"); first != asked.end()) asked.erase(first, asked.end());
  words.insert(words.end(), asked.begin(), asked.end());
  constexpr int kMost = kDefaultSpread;
  const LayerChoice& layers = config.run.layers;
  if (layers.count > kMost || static_cast<int>(layers.list.size()) > kMost)
    words.insert(words.end(), {"--set", "run.layers=spread:" + std::to_string(kMost)});
  if (config.run.denoise_steps > 1) words.insert(words.end(), {"--set", "run.denoise_steps=1"});
  for (const AskedStrategy& strategy : planned_strategies(form, catalog))
    words.insert(words.end(), {"-s", strategy.text});
  return words;
}

PlanAnswer read_plan(const std::string& output, const std::string& errors, const std::vector<AskedStrategy>& asked) {
  PlanAnswer answer;
  const std::optional<Json> json = Json::parse(output);
  const Json* list = json ? json->find("strategies") : nullptr;
  if (list == nullptr || !list->is_array()) {
    answer.problems = problems_of(json ? json->find("problems") : nullptr);
    constexpr int kLines = 12;
    if (answer.problems.empty()) answer.problems.push_back({ErrorCode::kLaunch, "", last_words(errors, kLines), ""});
    return answer;
  }
  answer.config_hash = json->text_or("config_hash", "");
  if (const Json* workload = json->find("workload"))
    answer.layer_passes = static_cast<int>(number_at(*workload, "layer_passes").value_or(0));
  std::vector<PlannedStrategy> planned;
  for (const Json& one : *list) planned.push_back(planned_of(one));
  if (asked.size() == 1 && asked[0].text == "all") {
    for (PlannedStrategy& strategy : planned) strategy.asked = "all";
    answer.strategies = std::move(planned);
    return answer;
  }
  for (const AskedStrategy& one : asked) {
    if (one.answer >= static_cast<int>(planned.size())) continue;
    answer.strategies.push_back(planned[static_cast<std::size_t>(one.answer)]);
    answer.strategies.back().asked = one.text;
  }
  return answer;
}

}  // namespace spscope::gui
