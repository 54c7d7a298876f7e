#include "gui/launch/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/base/json.h"
#include "gui/launch/json_numbers.h"

namespace spscope::gui {
namespace {

std::optional<AdvisedStrategy> strategy_of(const Json& one, double passes) {
  const auto makespan = number_at(one, "makespan_ns");
  if (!makespan || passes <= 0) return std::nullopt;
  const auto of_pass = [&](const std::optional<double>& sum) { return sum ? std::optional(*sum / passes) : sum; };
  return AdvisedStrategy{.label = one.text_or("label", one.text_or("id", "")),
                         .is_best = false,
                         .layer_ns = *makespan / passes,
                         .end_to_end_ns = number_at(one, "end_to_end_ns"),
                         .speedup = number_at(one, "speedup"),
                         .compute_ns = of_pass(mean_of(one.find("compute_ns"))),
                         .wait_late_peer_ns = of_pass(mean_of(one.find("wait_late_peer_ns"))),
                         .wire_ns = of_pass(mean_of(one.find("wire_ns"))),
                         .imbalance = number_at(one, "imbalance_ratio"),
                         .sent_bytes = of_pass(mean_of(one.find("bytes_sent")))};
}

std::vector<std::string> run_arguments(const Json& json, const Json& workload, const std::set<std::int64_t>& layers) {
  const std::string argument = json.text_or("argument", ""), reference = json.text_or("reference", "");
  if (argument.empty()) return {};
  std::vector<std::string> words;
  const auto set = [&](std::string_view key, const std::string& value) {
    words.insert(words.end(), {"--set", fmt::format("{}={}", key, value)});
  };
  set("run.mode", "simulate");
  set("run.scope", workload.text_or("scope", "layer"));
  set("run.layers", fmt::format("[{}]", fmt::join(layers, ", ")));
  for (const auto& [key, of] : {std::pair("cluster.dp", "data_parallel"), std::pair("cluster.guidance", "guidance")})
    if (const auto value = number_at(workload, of)) set(key, fmt::format("{}", *value));
  words.insert(words.end(), {"-s", argument});
  if (!reference.empty() && reference != argument && !argument.starts_with(reference + ":"))
    words.insert(words.end(), {"-s", reference});
  return words;
}

}  // namespace

std::optional<Advice> read_advice(std::string_view text) {
  const std::optional<Json> json = Json::parse(text);
  const Json* comparison = json ? json->find("comparison") : nullptr;
  const Json* list = comparison != nullptr ? comparison->find("strategies") : nullptr;
  const Json* workload = comparison != nullptr ? comparison->find("workload") : nullptr;
  if (list == nullptr || !list->is_array() || workload == nullptr) return std::nullopt;
  Advice advice;
  if (const Json* sentences = json->find("sentences"); sentences != nullptr && sentences->is_array())
    for (const Json& sentence : *sentences) advice.sentences.push_back(sentence.text());
  const std::string best = json->text_or("best", ""), reference = json->text_or("reference", "");
  std::set<std::int64_t> layers;
  for (const Json& one : *list) {
    const Json* passes = one.find("by_layer");
    double count = 0;
    if (passes != nullptr && passes->is_array())
      for (const Json& pass : *passes) {
        ++count;
        if (const Json* layer = pass.find("layer")) layers.insert(layer->integer().value_or(0));
      }
    auto strategy = strategy_of(one, count);
    if (!strategy) continue;
    strategy->is_best = one.text_or("id", "") == best;
    if (one.text_or("id", "") == reference) advice.reference = strategy->label;
    advice.strategies.push_back(std::move(*strategy));
  }
  std::ranges::stable_sort(advice.strategies, {}, &AdvisedStrategy::layer_ns);
  advice.run_arguments = run_arguments(*json, *workload, layers);
  return advice;
}

std::vector<std::string> advised_run(const std::vector<std::string>& words, const Advice& advice,
                                     const std::string& output) {
  std::vector<std::string> run = {words.front(), "run"};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "-s") {
      ++i;
    } else if (words[i] != "--json") {
      run.push_back(words[i]);
    }
  }
  run.insert(run.end(), advice.run_arguments.begin(), advice.run_arguments.end());
  run.insert(run.end(), {"-o", output});
  return run;
}

}  // namespace spscope::gui
