// ulysses (DeepSpeed-Ulysses): one all-to-all of q and one of k and v turn a split of tokens into a split of heads;
// each rank attends over all tokens of its heads; one all-to-all brings the output back. Tokens and heads may divide
// unevenly. Sent by all ranks: 4 M (1 - sum_r t_r h_r / (L H)) bytes, with M the bytes of one tensor (systems.md 3.1).
#include "backend/strategies/sharding.h"

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
  const AttendedAxis axis = spread_axis(request);
  const bool replicate = request.text == TextLayout::kReplicate && request.text_tokens > 0;
  const std::vector<SetId> tokens =
      b.sets().even(replicate ? request.video() : all_tokens(request, axis), request.ranks);
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), request.ranks);
  const Placement rows = b.place([&](int r) {
    BoxList boxes = {token_box(request, axis, request.all_heads(), tokens[static_cast<std::size_t>(r)])};
    if (replicate) boxes.push_back(token_box(request, axis, request.all_heads(), request.words()));
    return boxes;
  });
  const Placement columns = b.place([&](int r) {
    return BoxList{token_box(request, axis, heads[static_cast<std::size_t>(r)], all_tokens(request, axis))};
  });
  const LayerEntry entry = enter_layer(b, rows);
  const ValueId q = b.reshard(entry.q, columns), kv = b.reshard(entry.kv, columns);
  leave_layer(b, entry, b.reshard(b.attend_all(q, kv, axis), rows));
}

}  // namespace spscope
