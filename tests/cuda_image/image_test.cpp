// The fat binary that the program carries.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "kernels/cuda/images.h"

namespace spscope::kernels::cuda {
namespace {

TEST(CudaImage, IsAFatBinary) {
  const auto image = kernel_image();
  ASSERT_GT(image.size(), 1000u);
  std::uint32_t magic = 0;
  std::memcpy(&magic, image.data(), sizeof(magic));
  EXPECT_EQ(magic, 0xba55ed50u);  // the mark of fat binaries, as cuModuleLoadData expects them
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % 16, 0u);
}

}  // namespace
}  // namespace spscope::kernels::cuda
