// The device memory that kernels may touch, as announced (emulated.h).
#pragma once

#include <cstddef>

namespace spscope::kernels::cuda {

// Whether all bytes lie in one announced range, or none was ever announced. Any thread may ask.
bool is_device_memory(const void* begin, std::size_t num_bytes);

}  // namespace spscope::kernels::cuda
