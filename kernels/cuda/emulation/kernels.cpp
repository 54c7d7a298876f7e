// The kernels of the image, compiled for the emulation.
#include <array>

#include "kernels/cuda/attend_mma.cuh"
#include "kernels/cuda/attend_plain.cuh"
#include "kernels/cuda/emulation/emulated.h"
#include "kernels/cuda/emulation/kernel.h"
#include "kernels/cuda/hold.cuh"
#include "kernels/cuda/rows.cuh"

namespace spscope::kernels::cuda {
namespace {

// The parameters are the kernel's copy, as in a launch.
template <typename Parameters, void (*kFunction)(const Parameters&)>
void run(void** arguments) {
  kFunction(*static_cast<const Parameters*>(arguments[0]));
}

#define SPSCOPE_KERNEL(name, Parameters, threads, blocks, ...) \
  EmulatedKernel{#name, threads, sizeof(Parameters), &run<Parameters, &__VA_ARGS__>},
const EmulatedKernel kKernels[] = {
#include "kernels/cuda/kernels.def"
};

}  // namespace

const EmulatedKernel* find_emulated_kernel(std::string_view name) {
  for (const EmulatedKernel& kernel : kKernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace spscope::kernels::cuda
