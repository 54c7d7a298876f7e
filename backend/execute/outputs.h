// OutputTensor: what a run left as the layer's outputs, put together from the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/plan.h"

namespace spscope {

// A row of nearly nothing is judged against this share of the mean row's squares.
inline constexpr double kSmallestShareOfMean = 0.01;

struct OutputTensor {
  TensorSet tensors = kOutputs;  // o of an attention, or x of a whole layer
  int layer = 0;                 // attention of the layer, as Value::layer
  // o: [batch, heads, outer_tokens, inner_tokens, head_dim], x: [batch, hidden, outer_tokens, inner_tokens]; NaN where
  // no rank holds anything.
  std::vector<float> values;
  // Largest normalised square error of a row (one head of one token; of x all channels of one token) at any rank
  // against the lowest ranks that hold its elements, which `values` come from: sum (replica - values)^2 / sum values^2.
  // 0 without replicas, NaN when a replica is.
  double max_replica_error = 0;
};

}  // namespace spscope
