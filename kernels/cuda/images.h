// The compiled kernels, embedded: one fat binary with code for several architectures. cuModuleLoadData takes it.
#pragma once

#include <cstddef>
#include <span>

namespace spscope::kernels::cuda {

std::span<const std::byte> kernel_image();

}  // namespace spscope::kernels::cuda
