// allgather_kv (docs/strategies.md says who else has it): rows stay where they are, and every rank gathers all
// of k and v before it attends. It sends the bytes of a ring, 2 (N-1) M over all ranks, in one collective; but nothing
// overlaps with compute, and every rank holds all keys and values at once. Replicated text is attended by every rank
// and never moves.
#include "backend/strategies/collectives.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {

std::vector<Parameter> parameters_allgather_kv() { return {collective_parameter()}; }
std::vector<Problem> legal_allgather_kv(const Request&, const Parameters&) { return {}; }
std::vector<Parameters> candidates_allgather_kv(const Request& request) {
  return collective_candidates(request, parameters_allgather_kv());
}

Decision decide_allgather_kv(const Request& request, const Parameters&) { return decide_mesh(Mesh{1, request.ranks}); }

void plan_allgather_kv(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  const AttendedAxis axis = spread_axis(request);
  const std::vector<SetId> tokens = cut_blocks(request, axis, request.ranks, TokenOrder::kContiguous);
  const SetId words = replicates_text(request) ? request.words() : kEmptySet;
  const auto own = [&](int r) { return b.sets().minus(tokens[static_cast<std::size_t>(r)], words); };
  const Placement rows = b.place([&](int r) { return row_boxes(request, own(r)); });
  const Placement everything =
      b.place([&](int) { return BoxList{token_box(request, axis, request.all_heads(), all_tokens(request, axis))}; });
  const LayerEntry entry = enter_layer(b, rows);
  const AccId acc = b.accumulate(entry.q, axis, slices_for(request, axis, request.ranks));
  ValueId kv = entry.kv;
  if (request.ranks > 1) {
    const SetId video = b.sets().minus(all_tokens(request, axis), words);
    const auto placed = [&](auto&& tokens_at) {
      return b.place([&](int r) { return BoxList{token_box(request, axis, request.all_heads(), tokens_at(r))}; });
    };
    const ValueId gathered = all_gather(b, b.narrow(entry.kv, placed(own)), placed([&](int) { return video; }),
                                        b.everyone().front(), collective_algorithm(parameters));
    const ValueId both[] = {gathered, b.narrow(entry.kv, placed([&](int) { return words; }))};
    kv = words == kEmptySet ? gathered : b.narrow(b.view(both), everything);
  }
  b.attend(acc, kv);
  leave_layer(b, entry, b.finish(acc));
}

}  // namespace spscope
