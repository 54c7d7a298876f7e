// --dump: inputs, masks and outputs of a run as .npy files, so that anyone can check them with other tools.
//
//   DIR/layer-N/q.npy k.npy v.npy     float32 [heads, tokens, head_dim], rounded to the run's dtype
//   DIR/layer-N/mask.npy              uint8 [heads, q_blocks, k_blocks], block edges in block_starts.npy
//   DIR/layer-N/o-ID.npy              float32 output of each strategy that was executed
//
// With several denoise steps there is a folder DIR/step-S above; with a batch, arrays begin with it; a spatial-temporal
// model has _temporal twins of each file.
#pragma once

#include <string>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/outputs.h"
#include "backend/job/job_layers.h"

namespace spscope {

// Both throw Error(kOutputPlace, kStoreWrite) when a file cannot be written; no file is half-written.
void dump_inputs(const std::string& folder, const Job& job, const LayerOfJob& where, const Activations& input);
void dump_outputs(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                  const std::vector<OutputTensor>& outputs);

}  // namespace spscope
