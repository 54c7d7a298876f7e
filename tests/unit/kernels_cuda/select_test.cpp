// Which kernel serves what: that it exists, fits its shape and the smallest processor that has its instructions.
#include "kernels/cuda/select.h"

#include <gtest/gtest.h>

#include "kernels/attention.h"
#include "kernels/cuda/emulation/emulated.h"
#include "kernels/cuda/emulation/kernel.h"

namespace spscope::kernels::cuda {
namespace {

// Shared memory that a block may have on processors of 8.6 and 8.9, the least of all from 8.0 on, and on an A100, which
// holds two blocks of the widest usual heads at once (CUDA C++ Programming Guide, table of compute capabilities).
constexpr std::int64_t kLeastShared = 99 << 10, kSharedOfA100 = 164 << 10, kReservedOfBlock = 1 << 10;

void expect_exists(const KernelChoice& choice) {
  const EmulatedKernel* const kernel = find_emulated_kernel(choice.name);
  ASSERT_NE(kernel, nullptr) << choice.name;
  EXPECT_EQ(choice.threads, kernel->max_threads) << choice.name;
  EXPECT_LE(choice.shared_bytes, kLeastShared) << choice.name;
}

TEST(CudaSelect, EveryHeadDimHasAKernel) {
  for (int head_dim = 1; head_dim <= kMaxHeadDim; ++head_dim)
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
      for (const std::int32_t rows : {1, 64, 65, 384})
        for (const int capability : {75, 80, 90, 120}) {
          const AttendChoice choice = choose_attend(dtype, head_dim, rows, capability);
          expect_exists(choice.kernel);
          EXPECT_GT(choice.rows_per_block, 0);
        }
  for (const KernelChoice& choice :
       {choose_merge(), choose_finish(Dtype::kFp32), choose_finish(Dtype::kBf16), choose_clear(), choose_copy()})
    expect_exists(choice);
}

TEST(CudaSelect, BlocksFollowTheStretches) {
  const auto name = [](Dtype dtype, int head_dim, std::int32_t rows, int capability) {
    return choose_attend(dtype, head_dim, rows, capability).kernel.name;
  };
  EXPECT_EQ(name(Dtype::kBf16, 128, 64, 90), "spscope_attend_mma_64x128");
  EXPECT_EQ(name(Dtype::kBf16, 128, 128, 90), "spscope_attend_mma_128x128");
  EXPECT_EQ(name(Dtype::kBf16, 128, 384, 90), "spscope_attend_mma_128x128");
  EXPECT_EQ(name(Dtype::kBf16, 64, 32, 80), "spscope_attend_mma_64x64");
  EXPECT_EQ(name(Dtype::kBf16, 65, 128, 80), "spscope_attend_mma_128x96");
  EXPECT_EQ(name(Dtype::kBf16, 5, 128, 80), "spscope_attend_mma_64x32");
  EXPECT_EQ(name(Dtype::kBf16, 256, 128, 80), "spscope_attend_mma_64x256");
  EXPECT_EQ(name(Dtype::kBf16, 128, 128, 75), "spscope_attend_plain_bf16");
  EXPECT_EQ(name(Dtype::kFp32, 128, 128, 90), "spscope_attend_plain_fp32");
}

TEST(CudaSelect, TwoBlocksOf128RowsFitAnA100) {
  const AttendChoice choice = choose_attend(Dtype::kBf16, 128, 128, 80);
  EXPECT_LE(2 * (choice.kernel.shared_bytes + kReservedOfBlock), kSharedOfA100);
}

}  // namespace
}  // namespace spscope::kernels::cuda
