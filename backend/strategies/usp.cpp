// usp (unified sequence parallelism, arXiv 2405.07719): ranks form a U x R mesh. Tokens are cut into R ring chunks at
// block borders and each chunk into U even parts; all-to-alls inside Ulysses groups give each rank a share of heads of
// its chunk; k and v then travel round the ring of ranks with the same heads.
// Sent by all ranks, with equal head shares: (4 (U-1)/U + 2) M bytes, with M the bytes of one tensor
// (docs/strategies.md).
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_usp() {
  std::vector<Parameter> rows = mesh_parameters();
  rows.push_back(token_order_parameter());
  return rows;
}

std::vector<Problem> legal_usp(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_mesh(request, "usp", mesh_of(request, parameters), problems);
  return problems;
}

std::vector<Parameters> candidates_usp(const Request& request) {
  std::vector<Parameters> settings;
  for (Parameters& setting : mesh_candidates(request, parameters_usp()))
    for (const std::string& order : orders_worth_comparing(request)) {
      setting.set("order", order);
      settings.push_back(setting);
    }
  return settings;
}

Decision decide_usp(const Request& request, const Parameters& parameters) {
  return decide_mesh(mesh_of(request, parameters));
}

void plan_usp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh = mesh_of(request, parameters);
  plan_mesh(b, mesh, b.sets().even(request.all_heads(), mesh.ulysses),
            cut_blocks(request, axis, mesh.ring, token_order(parameters)), slices_for(request, axis, mesh.ring));
}

}  // namespace spscope
