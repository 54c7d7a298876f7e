// cyclic: usp whose blocks are dealt to the ring ranks in turn, block i to rank i mod R, from the layer's entry on, and
// whose heads are balanced by capped greedy and pair swaps; the striping of BurstEngine (arXiv 2509.19836) on whole
// blocks. Masks that depend mostly on the distance of blocks (bands, diagonals) are then even in every ring step, and
// dense rows and columns are dealt out; it sends the same bytes as usp. The division of blocks does not depend on the
// mask; that of heads follows the known mask.
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_cyclic() { return mesh_parameters(); }

std::vector<Problem> legal_cyclic(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_mesh(request, "cyclic", mesh_of(request, parameters), problems);
  return problems;
}

// With one axis it is dbsp (Ulysses) or ring in cyclic order.
std::vector<Parameters> candidates_cyclic(const Request& request) {
  return mesh_candidates(request, parameters_cyclic());
}

Decision decide_cyclic(const Request& request, const Parameters& parameters) {
  const Mesh mesh = mesh_of(request, parameters);
  Decision decision = decide_mesh(mesh);
  decision.heads = balanced_heads(request, mesh.ulysses);
  decision.query_blocks = decision.key_blocks = cyclic_groups(num_cut_blocks(request), mesh.ring);
  return decision;
}

void plan_cyclic(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision& decision) {
  plan_mesh(b, mesh_of(request, parameters), heads_of(request, decision.heads),
            tokens_of(request, decision.query_blocks), block_slices(request));
}

}  // namespace spscope
