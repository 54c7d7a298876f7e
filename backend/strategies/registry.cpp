#include <fmt/format.h>

#include "backend/plan/terms.h"
#include "backend/strategies/strategy.h"

namespace spscope {

#define STRATEGY(name, summary)                                         \
  std::vector<Parameter> parameters_##name();                           \
  std::vector<Parameters> candidates_##name(const Request&);            \
  std::vector<Problem> legal_##name(const Request&, const Parameters&); \
  Decision decide_##name(const Request&, const Parameters&);            \
  void plan_##name(PlanBuilder&, const Request&, const Parameters&, const Decision&);
#include "backend/strategies/strategies.def"
#undef STRATEGY

std::span<const Strategy> strategies() {
  static constexpr Strategy table[] = {
#define STRATEGY(name, summary) \
  {#name, summary, parameters_##name, candidates_##name, legal_##name, decide_##name, plan_##name},
#include "backend/strategies/strategies.def"
#undef STRATEGY
  };
  return table;
}

const Strategy* find_strategy(std::string_view name) {
  for (const Strategy& strategy : strategies())
    if (strategy.name == name) return &strategy;
  return nullptr;
}

Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters) {
  if (std::vector<Problem> problems = strategy.legal(request, parameters); !problems.empty())
    throw Error(std::move(problems));
  return make_plan(strategy, request, parameters, strategy.decide(request, parameters));
}

Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters,
               const Decision& decision) {
  PlanBuilder builder(request);
  strategy.plan(builder, request, parameters, decision);
  return builder.take();
}

std::string strategy_label(const Strategy& strategy, const Decision& decision, const Parameters& parameters) {
  std::string label(strategy.name);
  if (decision.ulysses > 1) label += fmt::format(" u{}", decision.ulysses);
  if (decision.ring > 1) label += fmt::format(" r{}", decision.ring);
  for (const Parameter& row : strategy.parameters())
    if (!row.choices.empty() && parameters.text(row.name) != std::get<std::string>(row.default_value))
      label += " " + parameters.text(row.name);
  return label;
}

void define_outputs(Request& request) {
  request.outputs = outputs_of(make_plan(*find_strategy("single"), request, Parameters()));
}

}  // namespace spscope
