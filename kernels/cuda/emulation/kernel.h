// A kernel of the emulation: what runs for each thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace spscope::kernels::cuda {

struct EmulatedKernel {
  std::string_view name;
  int max_threads = 0;             // of a block, as its __launch_bounds__ say
  std::size_t argument_bytes = 0;  // of the one struct that it takes
  void (*run)(void** arguments) = nullptr;
};

inline constexpr int kMaxThreadsOfBlock = 1024;

}  // namespace spscope::kernels::cuda
