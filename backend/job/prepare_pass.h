// What a layer pass needs before its first plan: the strategies as they are stored, inputs, and what outputs must be.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/job/running_job.h"

namespace spscope {

// What a layer pass runs on: by turn, the inputs of the guidance passes that run at once, and what their outputs must
// be (none: they are not checked).
struct LayerInputs {
  std::vector<Activations> turns;
  std::vector<std::vector<std::shared_ptr<const Reference>>> references;
};

// Stores the workload and the strategies of the job. Shapes do not change between layers, so the first one decides what
// is legal.
void begin_workload(RunningJob& running, const MaskSource& masks, const LayerOfJob& first);

// Of a layer pass, as the job has it: `where.request` is of one guidance pass. Nothing when it was interrupted.
std::optional<LayerInputs> inputs_of(RunningJob& running, const ActivationSource& activations, const LayerOfJob& where);

}  // namespace spscope
