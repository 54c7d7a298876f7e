// The kernel that holds multiprocessors: it waits for the host, says where, and gives up after its limit.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/select.h"
#include "tests/unit/kernels_cuda/device_array.h"

namespace spscope::kernels::cuda {
namespace {

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
