#include "tests/fake_cuda/test_kernels.h"

#include <algorithm>
#include <stdexcept>

#include "tests/fake_cuda/kernels.h"

namespace spscope::fake_cuda {

std::optional<Kernel> find_test_kernel(std::string_view name) {
  if (name == "fake_fill")
    return Kernel{sizeof(FillWords), [](Extent, Extent, std::size_t, void* argument) {
                    const auto& fill = *static_cast<const FillWords*>(argument);
                    std::fill_n(fill.words, fill.num_words, fill.value);
                  }};
  if (name == "fake_add")
    return Kernel{sizeof(AddToWords), [](Extent, Extent, std::size_t, void* argument) {
                    const auto& add = *static_cast<const AddToWords*>(argument);
                    for (std::uint32_t i = 0; i < add.num_words; ++i) add.words[i] += add.value;
                  }};
  if (name == "fake_fault")
    return Kernel{sizeof(RunIntoFault), [](Extent, Extent, std::size_t, void*) {
                    throw std::runtime_error("fake_fault ran into its fault");
                  }};
  return std::nullopt;
}

}  // namespace spscope::fake_cuda
