// Experiment: a small plan with a workload, run again and again to measure one number of a profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/calibrate.h"
#include "backend/plan/plan_builder.h"
#include "backend/plan/timeline.h"

namespace spscope {

struct Experiment {
  Request request;
  Plan plan;
  Activations activations;
};

// One attention over `mask` on `ranks` ranks, planned by `plan`.
Experiment make_experiment(int ranks, int head_dim, BlockMask mask, Dtype dtype,
                           const std::function<void(PlanBuilder&)>& plan);

// Two timed runs after one that warms up.
std::vector<Timeline> run_experiment(const Experiment& experiment, const CalibrateOptions& options);

// Calls round() for `seconds`, 3 to 40 times.
void repeat_rounds(double seconds, const std::function<void()>& round);

// Visits the ops of a kind: visit(id, op).
template <typename Visit>
void for_each_op(const Plan& plan, PostKind kind, Visit&& visit) {
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (const Op& op = plan.ops[static_cast<std::size_t>(id)]; plan.kind_of(op) == kind) visit(id, op);
}

inline const OpTimes& times_of(const Timeline& timeline, OpId op) { return timeline.ops[static_cast<std::size_t>(op)]; }

}  // namespace spscope
