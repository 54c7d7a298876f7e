// Queries, keys and values from a file: arrays q, k, v of one shape [heads, tokens, head_dim] in .npz or .safetensors,
// of a floating-point type. What `run` can take as input instead of random numbers.
#pragma once

#include <string>
#include <vector>

namespace spscope {

struct Activations {
  int heads = 0, tokens = 0, head_dim = 0;
  std::vector<float> q, k, v;  // [heads, tokens, head_dim]
};

// Throws the errors of array_file.h, and kMaskValue at NaN or infinity. A leading batch dimension of 1 is dropped.
Activations read_activations(const std::string& path);

}  // namespace spscope
