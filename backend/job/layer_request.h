// The request of one layer: shapes of the model and cluster with the masks that run and the masks that are known.
#pragma once

#include "backend/job/job.h"
#include "backend/job/layer_masks.h"
#include "backend/plan/request.h"

namespace spscope {

// `layer` counts from 0; in some models it decides what the layer is made of. `known` is nullptr when nothing is known
// yet; pass `executed` when plans may know the mask that runs.
Request make_layer_request(const Job& job, int layer, const LayerMasks& executed, const LayerMasks* known);

}  // namespace spscope
