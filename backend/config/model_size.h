// The parameters of a whole model, from its shapes: weight matrices of all layers and of what stands around them.
// Vectors (biases, norm weights, tables of modulations) are left out: below 0.1 % of Wan, HunyuanVideo, CogVideoX and
// FLUX.
//
// Of one layer, h = hidden, f = ffn:
//   wan             attention 4 h^2, and 4 h^2 to the text; 2 h f; with a picture as input 2 h^2 more for its keys and
//                   values
//   mmdit           double stream: twice 4 h^2 + 2 h f, modulation twice 6 h^2; single stream: 4 h^2 + 2 h f, 3 h^2
//   cogvideox       4 h^2 + 2 h f, modulation 2 x 512 x 6 h
//   spatiotemporal  twice 4 h^2, with text twice 4 h^2 more; 2 h f each feed-forward network
// Text encoder and VAE are other models (model_companions.h). Of a model with several experts it is the size of one.
#pragma once

#include <cstdint>

#include "backend/config/model.h"

namespace spscope {

// Numbers of parameters.
struct ModelSize {
  std::int64_t attention = 0;   // of all layers: projections to and from heads
  std::int64_t ffn = 0;         // of all layers: into and out of the feed-forward networks
  std::int64_t modulation = 0;  // of all layers: from the condition to shifts, scales and gates
  std::int64_t outside = 0;     // embeddings of patches, text and time, text refiner, output projection
  // The largest layer: all of it, and its modulation alone.
  std::int64_t largest_layer = 0, largest_layer_modulation = 0;
  std::int64_t total() const { return attention + ffn + modulation + outside; }
};

// Shapes that a config changed count as they are. REQUIRES: model.name is a preset's.
ModelSize model_size(const Model& model);

}  // namespace spscope
