// Which function serves a launch; and the kernel that holds multiprocessors: it waits for the host, says where, and
// gives up after its limit.
#include "kernels/cuda/select.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/attention.h"
#include "kernels/cuda/emulation/emulated.h"
#include "kernels/cuda/emulation/kernel.h"
#include "kernels/cuda/launch.h"
#include "tests/unit/kernels_cuda/device_array.h"

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

void run(int blocks, DeviceArray<std::uint32_t>& release, DeviceArray<std::uint32_t>& places, std::int64_t limit_ns) {
  const KernelChoice choice = choose_hold(1024);
  const EmulatedKernel* const kernel = find_emulated_kernel(choice.name);
  ASSERT_NE(kernel, nullptr);
  launch(*kernel, blocks, choice.threads, static_cast<std::size_t>(choice.shared_bytes),
         Hold{release.data(), places.data(), limit_ns});
}

TEST(Hold, BlocksStayUntilTheHostReleasesThemAndSayWhere) {
  DeviceArray<std::uint32_t> release(1, 0), places(3, 0);
  std::atomic<bool> ended = false;
  std::thread device([&] {
    run(3, release, places, 60'000'000'000);
    ended = true;
  });
  while (std::atomic_ref(places.data()[0]).load() == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_FALSE(ended);
  std::atomic_ref(release.data()[0]).store(1);
  device.join();
  EXPECT_EQ(places.values(), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Hold, ABlockGivesUpAfterTheLimit) {
  DeviceArray<std::uint32_t> release(1, 0), places(1, 0);
  run(1, release, places, 1'000'000);
  EXPECT_EQ(places.values().front(), kHoldGaveUp);
}

}  // namespace
}  // namespace spscope::kernels::cuda
