// ulysses (DeepSpeed-Ulysses): one all-to-all of q and one of k and v turn a split of tokens into a split of heads;
// each rank attends over all tokens of its heads; one all-to-all brings the output back. Tokens and heads may divide
// unevenly. Sent by all ranks: 4 M (1 - sum_r t_r h_r / (L H)) bytes, with M the bytes of one tensor
// (docs/strategies.md).
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_ulysses() { return {}; }

std::vector<Problem> legal_ulysses(const Request& request, const Parameters&) {
  std::vector<Problem> problems;
  check_ulysses_degree(request, "ulysses", request.ranks, problems);
  return problems;
}

std::vector<Parameters> candidates_ulysses(const Request& request) {
  return legal_ulysses(request, {}).empty() ? std::vector{Parameters()} : std::vector<Parameters>();
}

Decision decide_ulysses(const Request& request, const Parameters&) { return decide_mesh(Mesh{request.ranks, 1}); }

void plan_ulysses(PlanBuilder& b, const Request& request, const Parameters&, const Decision&) {
  plan_mesh(b, Mesh{request.ranks, 1}, b.sets().even(request.all_heads(), request.ranks),
            {all_tokens(request, spread_axis(request))}, 1);
}

}  // namespace spscope
