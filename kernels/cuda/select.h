// Which kernel a launch needs, and with how many threads and how much shared memory. Pure functions of the host.
//
// The grid is one block a piece, in x. A kernel with more than 48 KiB of shared memory has to be allowed to use it
// (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) once after its module was loaded.
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/dtype.h"

namespace spscope::kernels::cuda {

// The oldest processor with bf16 in mma.sync, and with cp.async, as a compute capability: 10 * major + minor.
inline constexpr int kTensorCores = 80;

struct KernelChoice {
  std::string name;  // of the function in the image
  std::int32_t threads = 0;
  std::int64_t shared_bytes = 0;
};

struct AttendChoice {
  KernelChoice kernel;
  std::int32_t rows_per_block = 0;  // at most so many rows in an AttendRows
};

// `longest_rows`: rows of the longest q stretch of the op; larger blocks serve longer stretches. `compute_capability`:
// 10 * major + minor, 80 for an A100.
AttendChoice choose_attend(Dtype dtype, int head_dim, std::int32_t longest_rows, int compute_capability);
KernelChoice choose_merge();
KernelChoice choose_finish(Dtype dtype);
KernelChoice choose_clear();
KernelChoice choose_copy();
// `shared_bytes`: the most that a block may have on the device.
KernelChoice choose_hold(std::int64_t shared_bytes);

}  // namespace spscope::kernels::cuda
