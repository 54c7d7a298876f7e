// ring (Ring Attention): every rank keeps its rows of q; k and v travel to the next rank while the current ones are
// attended, and unfinished rows merge by online softmax. Whole blocks in neighbouring runs, or dealt out cyclically,
// which balances any pattern that depends mostly on the distance of blocks.
// Sent by all ranks: 2 (N-1) M bytes, with M the bytes of one tensor (docs/strategies.md).
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_ring() { return {token_order_parameter()}; }

std::vector<Problem> legal_ring(const Request& request, const Parameters&) {
  std::vector<Problem> problems;
  check_ring_text(request, "ring", request.ranks, problems);
  return problems;
}

std::vector<Parameters> candidates_ring(const Request& request) {
  std::vector<Parameters> settings;
  if (!legal_ring(request, {}).empty()) return settings;
  for (const std::string& order : orders_worth_comparing(request)) {
    settings.emplace_back(parameters_ring());
    settings.back().set("order", order);
  }
  return settings;
}

Decision decide_ring(const Request& request, const Parameters&) { return decide_mesh(Mesh{1, request.ranks}); }

void plan_ring(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  const AttendedAxis axis = spread_axis(request);
  const std::vector<SetId> tokens = cut_blocks(request, axis, request.ranks, token_order(parameters));
  const Placement rows = b.place([&](int r) {
    return BoxList{token_box(request, axis, request.all_heads(), tokens[static_cast<std::size_t>(r)])};
  });
  const LayerEntry entry = enter_layer(b, rows);
  const int slices = slices_for(request, axis, request.ranks);
  leave_layer(b, entry, ring_attention(b, entry.q, entry.kv, b.everyone(), axis, slices));
}

}  // namespace spscope
