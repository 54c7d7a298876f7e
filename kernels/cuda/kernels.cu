// The entry points of the image: one function for each row of kernels.def.
#include "kernels/cuda/attend_mma.cuh"
#include "kernels/cuda/attend_plain.cuh"
#include "kernels/cuda/hold.cuh"
#include "kernels/cuda/rows.cuh"

#define SPSCOPE_KERNEL(name, Parameters, threads, blocks, ...)                                                    \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Parameters launch) { \
    spscope::kernels::cuda::__VA_ARGS__(launch);                                                                  \
  }

namespace spscope::kernels::cuda {
#include "kernels/cuda/kernels.def"
}
