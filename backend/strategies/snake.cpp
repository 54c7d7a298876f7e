// snake (xDiT's head balancing, its pull request 727 of 2026-06): Ulysses whose heads are dealt to the ranks by weight,
// in boustrophedon order. The weights are those of the known mask, which with run.mask_lag = 1 is that of the last
// denoise step; without a known mask, heads stay in order. It moves the same bytes as ulysses.
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_snake() { return {}; }

std::vector<Problem> legal_snake(const Request& request, const Parameters&) {
  std::vector<Problem> problems;
  check_ulysses_degree(request, "snake", request.ranks, problems);
  return problems;
}

std::vector<Parameters> candidates_snake(const Request& request) {
  return legal_snake(request, {}).empty() ? std::vector{Parameters()} : std::vector<Parameters>();
}

Decision decide_snake(const Request& request, const Parameters&) {
  Decision decision = decide_mesh(Mesh{request.ranks, 1});
  MaskCounter* known = request.known_mask(spread_axis(request));
  decision.heads =
      known ? deal_snake(known->area_sums().heads, request.ranks) : even_groups(request.heads, request.ranks);
  return decision;
}

void plan_snake(PlanBuilder& b, const Request& request, const Parameters&, const Decision& decision) {
  plan_mesh(b, Mesh{request.ranks, 1}, heads_of(request, decision.heads), {all_tokens(request, spread_axis(request))},
            1);
}

}  // namespace spscope
