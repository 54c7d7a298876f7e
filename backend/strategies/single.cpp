// single: rank 0 computes the whole layer. It is the baseline of every speed-up, and what its plan computes is the
// definition of the layer that verify() holds every other strategy to.
#include "backend/strategies/sharding.h"

namespace spscope {

std::vector<Parameter> parameters_single() { return {}; }
std::vector<Parameters> candidates_single(const Request&) { return {Parameters()}; }
std::vector<Problem> legal_single(const Request&, const Parameters&) { return {}; }
Decision decide_single(const Request&, const Parameters&) {
  Decision decision;
  decision.ulysses_groups = decision.ring_groups = {{0}};
  return decision;
}

void plan_single(PlanBuilder& b, const Request& request, const Parameters&, const Decision&) {
  const Placement rows = b.place([&](int rank) { return rank == 0 ? BoxList{request.whole()} : BoxList{}; });
  const LayerEntry entry = enter_layer(b, rows);
  leave_layer(b, entry, b.attend_all(entry.q, entry.kv, spread_axis(request)));
}

}  // namespace spscope
