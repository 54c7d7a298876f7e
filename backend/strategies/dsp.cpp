// dsp (Dynamic Sequence Parallelism, arXiv 2403.10266): a spatial-temporal layer attends inside frames and then along
// frames. The hidden state enters cut along frames, switches to a cut along positions by one all-to-all before the
// temporal block, and back after it; both attentions then see whole sequences. Cuts may be uneven, nothing is padded.
// Sent by all ranks: 2 M (1 - sum_r t_r s_r / (T S)) bytes, with t_r of T frames and s_r of S positions at rank r;
// 2 (N-1)/N M where both divide.
#include "backend/strategies/sharding.h"

namespace spscope {

std::vector<Parameter> parameters_dsp() { return {}; }

std::vector<Problem> legal_dsp(const Request& request, const Parameters&) {
  std::vector<Problem> problems;
  if (!request.spatiotemporal())
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.dsp", "needs separate spatial and temporal attention",
                        "use a spatiotemporal model (st-mini, dsp-720m, open-sora-1.2), or ulysses, ring or usp"});
  else
    check_layer_scope(request, "dsp", "it moves the hidden state between two blocks", problems);
  return problems;
}

std::vector<Parameters> candidates_dsp(const Request& request) {
  return legal_dsp(request, {}).empty() ? std::vector{Parameters()} : std::vector<Parameters>();
}

// Nothing to choose, and neither Ulysses groups nor rings.
Decision decide_dsp(const Request&, const Parameters&) { return {}; }

void plan_dsp(PlanBuilder& b, const Request& request, const Parameters&, const Decision&) {
  const std::vector<SetId> frames = b.sets().even(request.all_outer(), request.ranks);
  const std::vector<SetId> positions = b.sets().even(request.all_inner(), request.ranks);
  const SetId hidden = request.all_columns(Axis::kHidden);
  const Placement by_frames = b.place([&](int r) {
    return BoxList{{hidden, frames[static_cast<std::size_t>(r)], request.all_inner()}};
  });
  const Placement by_positions = b.place([&](int r) {
    return BoxList{{hidden, request.all_outer(), positions[static_cast<std::size_t>(r)]}};
  });
  const WeightCut whole_weights;
  LayerParts parts(b, whole_weights);
  const ValueId x = b.reshard(spatial_block(parts, parts.input(by_frames)), by_positions);
  const BlockEntry entry = enter_factorised(parts, x, AttendedAxis::kOuter);
  const ValueId o = b.attend_all(entry.q, entry.kv, AttendedAxis::kOuter);
  const ValueId left = leave_factorised(parts, entry, o, AttendedAxis::kOuter);
  b.output(b.reshard(left, by_frames), by_frames);
}

}  // namespace spscope
