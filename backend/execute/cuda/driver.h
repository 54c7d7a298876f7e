// Driver: the functions of NVIDIA's CUDA driver. Its library, libcuda.so.1, belongs to the machine and not to spscope:
// it is opened when a GPU is first asked for, so that programs start where there is none.
//
// Calls are made as driver().cuMemAlloc(...), with the names of <cuda.h>, and checked with check().
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

#include "backend/base/error.h"

namespace spscope::cuda {

struct Driver {
#define DRIVER_CALL(name) decltype(&::name) name = nullptr;
#include "backend/execute/cuda/driver_calls.def"
#undef DRIVER_CALL
  int version = 0;  // the newest CUDA that it knows: 13020 is 13.2
};

// Why there is no driver, or none that runs the kernels of this build, or no GPU, and how to go on. The message is
// empty when GPUs can be used. What was found at the first call stays: neither drivers nor GPUs come while a process
// lives.
const Problem& driver_missing();

// Ready to use: cuInit() has been called. Throws what driver_missing() says.
const Driver& driver();

// The newest CUDA that it knows, "13.2".
std::string driver_version_text();

// "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered"
std::string error_text(CUresult result);

// Throws Error unless the result is CUDA_SUCCESS: `what` ("cuMemAlloc of 4096 bytes on device 0") and error_text().
// kDeviceMemory when memory is full, else kDeviceFailed.
void check(CUresult result, std::string_view what);

}  // namespace spscope::cuda
