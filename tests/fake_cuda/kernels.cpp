#include "tests/fake_cuda/kernels.h"

#include <algorithm>
#include <array>

#include "kernels/cuda/emulation/emulated.h"
#include "kernels/cuda/launch.h"

namespace spscope::fake_cuda {
namespace {

using kernels::cuda::Attend;
using kernels::cuda::Clear;
using kernels::cuda::Copy;
using kernels::cuda::EmulatedKernel;
using kernels::cuda::Finish;
using kernels::cuda::Hold;
using kernels::cuda::Merge;

struct Argument {
  std::string_view kernel;
  std::size_t num_bytes;
};

#define SPSCOPE_KERNEL(name, Parameters, ...) Argument{#name, sizeof(Parameters)},
constexpr Argument kArguments[] = {
#include "kernels/cuda/kernels.def"
};

void fill(Extent, Extent, std::size_t, void* argument) {
  const auto& fill = *static_cast<const FillWords*>(argument);
  std::fill_n(fill.words, fill.num_words, fill.value);
}

int dimension(unsigned extent) { return static_cast<int>(extent); }

}  // namespace

std::optional<Kernel> find_kernel(std::string_view name) {
  if (name == "fake_fill") return Kernel{sizeof(FillWords), fill};
  const EmulatedKernel* const emulated = kernels::cuda::find_emulated_kernel(name);
  const auto* const argument = std::ranges::find(kArguments, name, &Argument::kernel);
  if (emulated == nullptr || argument == std::end(kArguments)) return std::nullopt;
  return Kernel{argument->num_bytes, [emulated](Extent grid, Extent block, std::size_t shared_bytes, void* given) {
                  std::array<void*, 1> arguments = {given};
                  kernels::cuda::launch_emulated(*emulated, {dimension(grid.x), dimension(grid.y), dimension(grid.z)},
                                                 {dimension(block.x), dimension(block.y), dimension(block.z)},
                                                 shared_bytes, arguments.data());
                }};
}

void announce_memory(std::uintptr_t begin, std::size_t num_bytes) {
  kernels::cuda::announce_device_memory(reinterpret_cast<const void*>(begin), num_bytes);
}

void retract_memory(std::uintptr_t begin) {
  kernels::cuda::retract_device_memory(reinterpret_cast<const void*>(begin));
}

}  // namespace spscope::fake_cuda
