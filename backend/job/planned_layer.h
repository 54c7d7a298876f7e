// One strategy's plan of one layer, verified, with every figure that needs no run. `plan` prints it, `run` runs it.
#pragma once

#include <optional>
#include <vector>

#include "backend/analysis/plan_figures.h"
#include "backend/base/result.h"
#include "backend/job/job_layers.h"
#include "backend/schedule/imbalance.h"
#include "backend/schedule/memory_need.h"
#include "backend/store/records.h"

namespace spscope {

struct PlannedLayer {
  Plan plan;
  RankMesh mesh;
  std::int64_t planning_ns = 0;  // to decide, to make and to verify the plan
  std::optional<bool> decided;   // LayerDecision::decided
  double density = 0;            // of the executed mask, 0 to 1
  PlanVolume volume;
  PlanTiles tiles;
  ImbalanceRatios imbalance;                      // of active query-key pairs
  std::optional<double> planned_imbalance_ratio;  // the plain ratio as the known masks promised it
  double moved_fraction = 0;
  std::vector<std::int64_t> memory_bound_bytes;  // by rank
  std::int64_t parameter_bytes = 0;              // sum over ranks
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
