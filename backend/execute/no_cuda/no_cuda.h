// In place of execute/cuda, where the build has no kernels for GPUs: rows that say so.
#pragma once

#include "backend/execute/cuda_rows.h"

namespace spscope {

CudaParts no_cuda_parts();

}  // namespace spscope
