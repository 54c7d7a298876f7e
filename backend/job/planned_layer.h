// One strategy's plan of one layer, verified, with every figure that needs no run. `plan` prints it, `run` runs it.
#pragma once

#include <optional>
#include <vector>

#include "backend/analysis/plan_figures.h"
#include "backend/base/result.h"
#include "backend/job/job_layers.h"
#include "backend/schedule/memory_need.h"
#include "backend/store/records.h"

namespace spscope {

struct PlannedLayer {
  Plan plan;
  RankMesh mesh;
  RunFigures figures;           // that need no times
  std::optional<bool> decided;  // LayerDecision::decided
  PlanVolume volume;
  std::vector<double> tiles_by_rank;             // as PlanTiles
  std::vector<std::int64_t> memory_bound_bytes;  // by rank
  MemoryNeed memory;                             // of a rank of the cluster; try_plan_fitting() alone sets it
};

// Of all passes of the request.
RankMesh mesh_of(const Decision& decision, const Request& request);

// Throws Error(kPlanInvalid) when the plan breaks a rule: a defect of the strategy, named with the rule; and
// Error(kPlanTooLarge) when no machine, or not this one, can hold it. REQUIRES: the strategy is legal for the request.
PlannedLayer plan_layer(const ChosenStrategy& chosen, const Request& request, const LayerDecision& decision);
// The same, for a caller that goes on with the other strategies: these Errors, and that a plan moves what its ranks do
// not hold (kPlanNotHeld), are returned. All others are thrown.
Result<PlannedLayer> try_plan_layer(const ChosenStrategy& chosen, const Request& request,
                                    const LayerDecision& decision);
// How such an Error refuses its strategy.
Problem refusal(const ChosenStrategy& chosen, const Error& error);

// Bytes and messages by pair of ranks and tensor, as the store keeps them.
std::vector<Traffic> traffic_of(const Plan& plan, const Request& request);
// What each rank does by the plan; counters of a run replace the bytes.
std::vector<RankUsage> planned_usage(const PlannedLayer& planned);

}  // namespace spscope
