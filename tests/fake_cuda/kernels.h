// The kernels that the fake CUDA driver launches: those of kernels/cuda on the emulator, and fake_fill for its own test
// and for programs that are not spscope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace spscope::fake_cuda {

// "fake_fill": writes `value` to `num_words` words.
struct FillWords {
  std::uint32_t* words;
  std::uint32_t num_words;
  std::uint32_t value;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};

struct Kernel {
  std::size_t argument_bytes = 0;  // of the one struct that it takes
  // Runs all blocks on the calling thread. Throws std::runtime_error with words when the kernel does what a device
  // would not survive.
  std::function<void(Extent grid, Extent block, std::size_t shared_bytes, void* argument)> run;
};

// nullopt: no image has such a kernel.
std::optional<Kernel> find_kernel(std::string_view name);

// Tells the emulator what memory kernels may touch.
void announce_memory(std::uintptr_t begin, std::size_t num_bytes);
void retract_memory(std::uintptr_t begin);

}  // namespace spscope::fake_cuda
