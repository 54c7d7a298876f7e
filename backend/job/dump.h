// --dump: inputs, masks, weights and outputs of a run as files, so that anyone can check them with other tools.
// schemas/dump.md lists the files with their shapes.
#pragma once

#include <string>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/outputs.h"
#include "backend/job/job_layers.h"

namespace spscope {

class LayerParameters;

// `pass`: of guidance, where several run; the files of all but the first have it in their names.
// All throw Error(kOutputPlace, kStoreWrite) when a file cannot be written; no file is half-written.

// What the layer pass starts from: its shape (layer.json), q, k and v or x, and its masks.
void dump_inputs(const std::string& folder, const Job& job, const LayerOfJob& where, const Activations& input,
                 int pass = 0);
// The parameters of a block, which all layers of this block share.
void dump_parameters(const std::string& folder, const Request& request, LayerParameters& parameters);
// What one strategy left.
void dump_outputs(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                  const std::vector<OutputTensor>& outputs, int pass = 0);
// The guided prediction, [batch, prediction channels, video tokens].
void dump_guided(const std::string& folder, const Job& job, const LayerOfJob& where, const std::string& strategy,
                 const std::vector<float>& guided);

}  // namespace spscope
