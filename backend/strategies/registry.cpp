#include <fmt/format.h>

#include "backend/plan/passes_at_once.h"
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

namespace {

// Whether a choice needs the name of its parameter beside it.
bool says_little(std::string_view choice) { return choice == "none" || choice == "even" || choice == "queries"; }

}  // namespace

Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters) {
  const Request pass = request_of_pass(request);
  if (std::vector<Problem> problems = strategy.legal(pass, parameters); !problems.empty())
    throw Error(std::move(problems));
  return make_plan(strategy, request, parameters, strategy.decide(pass, parameters));
}

Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters,
               const Decision& decision) {
  if (request.passes > 1)
    return passes_at_once(make_plan(strategy, request_of_pass(request), parameters, decision), request.passes,
                          num_attentions(request));
  PlanBuilder builder(request);
  strategy.plan(builder, request, parameters, decision);
  return builder.take();
}

std::string strategy_label(const Strategy& strategy, std::span<const Degrees> degrees, const Parameters& parameters) {
  std::string label(strategy.name);
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    const auto [ulysses, ring] = degrees[i];
    if (i > 0) label += " /";
    if (ulysses > 1 || (ring == 1 && degrees.size() > 1)) label += fmt::format(" u{}", ulysses);
    if (ring > 1) label += fmt::format(" r{}", ring);
  }
  for (const Parameter& row : strategy.parameters()) {
    const ParameterValue& value =
        parameters.has(row.name) ? parameters.values().find(row.name)->second : row.default_value;
    if (value == row.default_value || row.unit == "ranks") continue;  // the degrees are shown above
    if (const bool* flag = std::get_if<bool>(&value))
      label += (*flag ? " " : " no ") + row.name;
    else if (const std::string* text = std::get_if<std::string>(&value))
      label += " " + (says_little(*text) ? row.name + "=" : "") + *text;
    else
      label += fmt::format(" {}={}", row.name, to_text(value));
  }
  return label;
}

Request request_at_once(const Request& pass, int passes) {
  Request request = pass;
  request.ranks = passes * pass.ranks;
  request.passes = passes;
  define_outputs(request);
  return request;
}

void define_outputs(Request& request) {
  request.outputs = outputs_of(make_plan(*find_strategy("single"), request, Parameters()));
}

}  // namespace spscope
