#include "gui/launch/plan_answer.h"

#include <algorithm>

#include "backend/config/layer_choice.h"
#include "gui/launch/child.h"

namespace spscope::gui {
namespace {

std::optional<double> number_at(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_number() ? std::optional(value->number()) : std::nullopt;
}

std::optional<double> largest(const Json* list) {
  std::optional<double> most;
  if (list != nullptr && list->is_array())
    for (const Json& value : *list)
      if (value.is_number() && (!most || value.number() > *most)) most = value.number();
  return most;
}

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
      for (const std::string_view part : {"activations", "weights", "staging", "reserved"})
        sum += number_at(rank, part).value_or(0);
      strategy.memory_bytes = std::max(strategy.memory_bytes.value_or(0), sum);
    }
}

}  // namespace

std::vector<std::string> planned_strategies(const RunForm& form, const Catalog& catalog) {
  std::vector<std::string> names = form.strategies();
  if (form.all_settings()) return names;
  for (const CatalogRow& row : catalog.strategies)
    if (std::ranges::find(names, row.name) == names.end()) names.push_back(row.name);
  return names;
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
  for (const std::string& name : planned_strategies(form, catalog)) words.insert(words.end(), {"-s", name});
  return words;
}

PlanAnswer read_plan(const std::string& output, const std::string& errors, const std::vector<std::string>& asked) {
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
  for (const Json& one : *list) {
    PlannedStrategy& strategy = answer.strategies.emplace_back();
    const std::size_t number = answer.strategies.size() - 1;
    const bool chosen_by_all = asked.size() != static_cast<std::size_t>(std::ranges::distance(*list)) ||
                               (number < asked.size() && asked[number] == "all");
    strategy.asked = chosen_by_all ? "all" : asked[number];
    strategy.name = one.text_or("name", "");
    strategy.label = one.text_or("label", strategy.name);
    strategy.problems = problems_of(one.find("problems"));
    strategy.legal = one.find("reason") == nullptr || !one.find("reason")->is_text();
    if (!strategy.legal && strategy.problems.empty())
      strategy.problems.push_back({ErrorCode::kStrategyIllegal, "", one.text_or("reason", ""), ""});
    read_memory(one, strategy);
    if (!strategy.legal) continue;
    strategy.imbalance = number_at(one, "imbalance_ratio");
    strategy.makespan_ns = number_at(one, "makespan_ns");
    strategy.sent_bytes = largest(one.find("bytes_sent"));
  }
  return answer;
}

}  // namespace spscope::gui
