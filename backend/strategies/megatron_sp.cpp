// megatron_sp (Megatron with sequence parallelism, arXiv 2205.05198): weights are cut over ranks and the hidden state
// over tokens; it is gathered before each pair of projections and reduce-scattered after it.
// Sent by all ranks: 2 (N-1) M bytes for each attention and each feed-forward network that reads its own rows
// (docs/strategies.md), 2 (N-1) M for a single-stream block, whose two sums are added before they are scattered.
#include "backend/strategies/megatron.h"

namespace spscope {

std::vector<Parameter> parameters_megatron_sp() { return {collective_parameter()}; }

std::vector<Problem> legal_megatron_sp(const Request& request, const Parameters&) {
  std::vector<Problem> problems = check_megatron(request, "megatron_sp");
  check_cut(request, "megatron_sp", request.heads, "heads", problems);
  if (request.text_tokens > 0 && request.text == TextLayout::kReplicate)
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.megatron_sp",
                        "it cuts all tokens of the hidden state, and the text is to be replicated",
                        "set run.text = \"shard\", or use megatron_tp"});
  return problems;
}

std::vector<Parameters> candidates_megatron_sp(const Request& request) {
  if (!legal_megatron_sp(request, {}).empty()) return {};
  return collective_candidates(request, parameters_megatron_sp());
}

// Nothing to choose, and neither Ulysses groups nor rings.
Decision decide_megatron_sp(const Request&, const Parameters&) { return {}; }

void plan_megatron_sp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  plan_megatron(b, request, true, collective_algorithm(parameters));
}

}  // namespace spscope
