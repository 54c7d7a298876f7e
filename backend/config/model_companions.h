// What runs beside the transformer of a model, and may be on the same GPU: the text encoder (for a picture as input the
// image encoder, too), and the VAE that decodes the result.
//
// A decoder holds its widest tensors at full resolution, channels x frames of one pass x pixels of a frame. Nine of
// them at once are its peak: input and output of a block, its norm in fp32, activation, padded copies and the workspace
// of a convolution. Published peaks with less than nothing else come to 4 to 9.4 of them (FLUX.1-dev 4.0 in
// sayakpaul/diffusers-torchao and 9.4 in derekl35/diffusers-quantization-benchmarks, CogVideoX-5B 9.1 in
// sayakpaul/diffusers-torchao, Wan2.1-1.3B 6.3 in its own chart), so it is an upper figure. Decoding in tiles needs
// less.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/config/model.h"

namespace spscope {

// Bytes.
struct Companions {
  std::string_view text_encoder_name = {};  // "UMT5-XXL"; "": the model has none
  std::int64_t text_encoder = 0;            // its weights, in the type in which they are published
  // Whether the model may have one whose size is not known here.
  bool text_encoder_unknown = false, vae_unknown = false;
  std::int64_t vae = 0;       // its weights
  std::int64_t decoding = 0;  // what the VAE needs beside them for the output of the model, its batch together
};

// Of the model on its grid and samples. With other layers, channels, heads or ffn than its preset it is another model,
// whose companions are not known. REQUIRES: model.name is a preset's.
Companions companions(const Model& model);

}  // namespace spscope
