// A plan that tests of GPU ranks run: a ring of four, whose ranks attend and exchange at the same time.
#pragma once

#include "backend/execute/execute.h"
#include "backend/strategies/strategy.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope {

struct RingOf4 {
  Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), 4, Dtype::kFp32);
  Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  Activations activations = generate_activations(request, 1);

  const Op& op(std::int64_t id) const { return plan.ops[static_cast<std::size_t>(id)]; }
  OpId find_op(PostKind kind, int rank) const {
    for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
      if (op(id).rank == rank && plan.kind_of(op(id)) == kind) return id;
    return kNone;
  }
  ExecuteResult run(ExecuteOptions options) const {
    options.device = "cuda";
    return execute(plan, request, activations, options);
  }
};

}  // namespace spscope
