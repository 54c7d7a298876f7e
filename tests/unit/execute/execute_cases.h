// Requests and plans that the executor's tests share.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/plan/plan_builder.h"
#include "backend/strategies/strategy.h"
#include "tests/support/random_mask.h"

namespace spscope::testing {

// 4 heads of dim 8 over 100 tokens in blocks of 16 (the last one ragged).
inline Request small_request(int ranks, Dtype dtype = Dtype::kFp32, double density = 0.6) {
  return Request::attention(ranks, 4, 8, random_mask(4, 100, 16, density), dtype);
}

// The same with 5 frames as outer axis, attended in blocks of 2 by its own mask.
inline Request small_spatiotemporal_request(int ranks) {
  Request request = small_request(ranks);
  request.outer_tokens = 5;
  request.executed_masks[0] = std::make_shared<MaskCounter>(request.sets, random_mask(4, 5, 2, 0.7, 9));
  request.known_masks[0] = request.executed_masks[0];
  return request;
}

using Setting = std::pair<std::string_view, ParameterValue>;

inline Plan plan_of(const Request& request, std::string_view strategy, std::initializer_list<Setting> settings = {}) {
  const Strategy& found = *find_strategy(strategy);
  Parameters parameters(found.parameters());
  for (const Setting& setting : settings) parameters.set(setting.first, setting.second);
  return make_plan(found, request, parameters);
}

// Even runs of tokens, all heads.
inline Placement token_runs(PlanBuilder& b) {
  const Request& request = b.request();
  const std::vector<SetId> parts = b.sets().even(request.all_inner(), request.ranks);
  return b.place([&](int rank) {
    return BoxList{{request.all_heads(), request.all_outer(), parts[static_cast<std::size_t>(rank)]}};
  });
}

// Runs with poisoned memory and compares every row with the reference.
inline Verification run_and_check(const Plan& plan, const Request& request, std::uint64_t seed = 5) {
  const Activations activations = generate_activations(request, seed);
  ExecuteOptions options;
  options.poison = true;
  options.repeats = 2;
  const ExecuteResult result = execute(plan, request, activations, options);
  return Reference(request, activations, VerifyExtent::kFull, 0).check(result.outputs);
}

}  // namespace spscope::testing
