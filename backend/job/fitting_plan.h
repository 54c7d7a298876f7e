// Whether the memory of the cluster's ranks holds what a plan needs (schedule/memory_need.h), and from how many ranks
// on it would.
#pragma once

#include <optional>

#include "backend/job/planned_layer.h"

namespace spscope {

// try_plan_layer(), which also returns Error(kMemoryNeed) for a plan that needs more than DeviceProfile::memory_gib at
// some rank. The error names the rank, the parts of what it needs, and what would fit.
Result<PlannedLayer> try_plan_fitting(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                      const LayerDecision& decision);

// Of twice, four times, ... the ranks of the request, up to 128, or the GPUs of one node where there is no network
// between nodes, the first with which some setting of the strategy fits: the chosen one where it is legal, else those
// of candidates(). nullopt: none does.
std::optional<int> fits_from_ranks(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                   const RunSection& run);

}  // namespace spscope
