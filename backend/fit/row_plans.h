// The layers of a job with dense masks, which are alike where they are of one kind.
#pragma once

#include <functional>

#include "backend/job/job.h"
#include "backend/job/planned_layer.h"

namespace spscope {

// Calls `plan` for the first layer of each kind, with the request and the decision of the job's first strategy. Throws
// Error when the strategy cannot serve it.
void for_each_kind_of_layer(const Job& job, const std::function<void(const Request&, const LayerDecision&)>& plan);

}  // namespace spscope
