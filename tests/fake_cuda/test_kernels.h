// Arguments of the kernels that the fake CUDA driver has for tests of itself.
#pragma once

#include <cstdint>

namespace spscope::fake_cuda {

// "fake_fill": writes `value` to `num_words` words.
struct FillWords {
  std::uint32_t* words;
  std::uint32_t num_words;
  std::uint32_t value;
};

// "fake_add": adds `value` to each of `num_words` words.
using AddToWords = FillWords;

// "fake_fault": does what no device survives.
struct RunIntoFault {
  std::uint32_t unused;
};

}  // namespace spscope::fake_cuda
