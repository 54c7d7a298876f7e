// Token-local kernels of the CPU executor: element by element over operands of one shape.
//
// Attention scope needs no more. Kernels that contract columns (projections, the feed-forward network) belong to layer
// scope; plans that use one that is not in this table are refused before they start.
#pragma once

#include <span>
#include <string_view>

namespace spscope {

struct LocalKernel {
  std::string_view name;
  // All operands have as many elements as `out`; arithmetic is in fp32.
  void (*run)(std::span<const std::span<const float>> operands, std::span<float> out);
};

std::span<const LocalKernel> local_kernels();
// nullptr when the name is not known.
const LocalKernel* find_local_kernel(std::string_view name);

}  // namespace spscope
