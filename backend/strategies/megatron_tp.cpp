// megatron_tp (Megatron-LM tensor parallelism, arXiv 1909.08053): weights are cut over ranks, every rank holds the
// whole hidden state, and an all-reduce follows each pair of projections: a reduce to even parts, then an exchange.
// Sent by all ranks: 2 (N-1) M bytes for each all-reduce, also where ranks outnumber the heads and some add zeros.
#include "backend/strategies/megatron.h"

namespace spscope {

std::vector<Parameter> parameters_megatron_tp() { return {collective_parameter()}; }

std::vector<Problem> legal_megatron_tp(const Request& request, const Parameters&) {
  return check_megatron(request, "megatron_tp");
}

std::vector<Parameters> candidates_megatron_tp(const Request& request) {
  if (!legal_megatron_tp(request, {}).empty()) return {};
  return collective_candidates(request, parameters_megatron_tp());
}

// Nothing to choose, and neither Ulysses groups nor rings.
Decision decide_megatron_tp(const Request&, const Parameters&) { return {}; }

void plan_megatron_tp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  plan_megatron(b, request, false, collective_algorithm(parameters));
}

}  // namespace spscope
