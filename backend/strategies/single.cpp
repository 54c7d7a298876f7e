// single: rank 0 computes the whole layer. It is the baseline of every speed-up, and what its plan computes is the
// definition of the layer that verify() holds every other strategy to.
#include "backend/strategies/sharding.h"

namespace spscope {

std::vector<Parameter> parameters_single() { return {}; }
std::vector<Parameters> candidates_single(const Request&) { return {Parameters()}; }
std::vector<Problem> legal_single(const Request&, const Parameters&) { return {}; }
Resolved resolve_single(const Request&, const Parameters&) { return {1, 1, {{0}}, {{0}}}; }

void plan_single(PlanBuilder& b, const Request& request, const Parameters&) {
  const Placement rows = b.place([&](int rank) { return rank == 0 ? BoxList{request.whole()} : BoxList{}; });
  const auto [q, kv] = enter_attention(b, rows);
  b.output(b.attend_all(q, kv, spread_axis(request)), rows);
}

}  // namespace spscope
