// The request of one layer: shapes of the model and cluster with the masks that run and the masks that are known.
#pragma once

#include <functional>

#include "backend/cli/job.h"
#include "backend/cli/layer_masks.h"
#include "backend/plan/request.h"

namespace spscope {

// `known` is nullptr when nothing is known yet; pass `executed` when plans may know the mask that runs.
Request make_layer_request(const Job& job, const LayerMasks& executed, const LayerMasks* known);

// One layer at one denoise step of a job.
struct LayerOfJob {
  int denoise_step, layer;
  const LayerMasks& masks;
  const Request& request;
};
// Every layer of every denoise step that runs, in order. With run.mask_lag = 1 and masks that evolve, a plan knows the
// mask of the step before, and nothing at the first step. Ends early when `visit` returns false.
void for_each_layer(const Job& job, const MaskSource& source, const std::function<bool(const LayerOfJob&)>& visit);

}  // namespace spscope
