// The request of one layer: shapes of the model and cluster with the masks that run and the masks that are known.
#pragma once

#include "backend/cli/job.h"
#include "backend/cli/layer_masks.h"
#include "backend/plan/request.h"

namespace spscope {

// `known` is nullptr when nothing is known yet; pass `executed` when plans may know the mask that runs.
Request make_layer_request(const Job& job, const LayerMasks& executed, const LayerMasks* known);

}  // namespace spscope
