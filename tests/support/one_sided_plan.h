// Small plans with one-sided moves, of attention: keys pulled by all, or pushed to all, ordered by
// signals or by a barrier.
#pragma once

#include "backend/plan/plan_builder.h"

namespace spscope::testing {

inline Plan one_sided_plan(const Request& request, bool pull, bool barrier) {
  PlanBuilder b(request);
  const std::vector<SetId> parts = b.sets().even(request.all_inner(), request.ranks);
  const Placement rows = b.place([&](int rank) {
    return BoxList{{request.all_heads(), request.all_outer(), parts[static_cast<std::size_t>(rank)]}};
  });
  const Placement everywhere = b.place([&](int) { return BoxList{request.whole()}; });
  auto [q, kv] = b.input_qkv(rows);
  kv = b.local("copy", {&kv, 1});
  if (barrier && pull) b.barrier();
  const Move move = pull ? b.pull(kv, everywhere) : b.push(kv, everywhere);
  if (barrier && !pull) b.barrier();
  b.output(b.attend_all(q, b.wait(move)), rows);
  return b.take();
}

}  // namespace spscope::testing
