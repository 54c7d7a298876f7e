// Module: an image of kernels, loaded into a context.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>
#include <string>

#include "backend/execute/cuda/context.h"

namespace spscope::cuda {

class Module {
 public:
  // Of the image, the driver takes the code of the context's device. The context outlives it. Throws Error.
  Module(const CudaContext& context, std::span<const std::byte> image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Allows the kernel `shared_bytes` of dynamic shared memory. Throws Error.
  CUfunction function(const std::string& name, int shared_bytes) const;

 private:
  const CudaContext& context_;
  CUmodule module_ = nullptr;
};

}  // namespace spscope::cuda
