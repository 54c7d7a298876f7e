// The argument of the kernel that the fake CUDA driver has for tests of itself and for programs that are not spscope.
#pragma once

#include <cstdint>

namespace spscope::fake_cuda {

// "fake_fill": writes `value` to `num_words` words.
struct FillWords {
  std::uint32_t* words;
  std::uint32_t num_words;
  std::uint32_t value;
};

}  // namespace spscope::fake_cuda
