// What the fake CUDA driver must notice, since tests trust that it does: writes and copies outside of allocations. And
// the owners of backend/execute/cuda where no run on it shows them. What else it does is proven by tests/gpu_ranks.
#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <span>
#include <string>

#include "backend/base/result.h"
#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/memory.h"
#include "backend/execute/cuda/module.h"
#include "backend/execute/cuda/stream.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/kernels.h"

namespace spscope::cuda {
namespace {

using fake_cuda::FakeCuda;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::array<std::uint32_t, 1> kImage = {0xba55ed50};  // the mark of a fat binary

// The words of the Error that `work` throws; "" when it throws none.
std::string error_of(const std::function<void()>& work) {
  const std::optional<Error> error = failure_of(work);
  return error ? error->what() : "";
}

// A device with a stream and the kernels of the fake's tests.
struct TestGpu {
  void fill(const DeviceMemory& memory, std::uint32_t num_words) {
    fake_cuda::FillWords argument{reinterpret_cast<std::uint32_t*>(memory.address()), num_words, 0};
    std::array<void*, 1> arguments = {&argument};
    check(driver().cuLaunchKernel(module.function("fake_fill", 0), 1, 1, 1, 32, 1, 1, 0, stream.get(), arguments.data(),
                                  nullptr),
          "fake_fill");
  }

  CudaContext context{0};
  CurrentContext current{context};
  Stream stream{context};
  Module module{context, std::as_bytes(std::span(kImage))};
};

TEST(FakeCuda, WritesOutsideNameTheAllocation) {
  {
    const FakeCuda fake;
    TestGpu gpu;
    const DeviceMemory first(gpu.context, 100), second(gpu.context, 40);
    gpu.fill(second, 11);  // one word too far
    EXPECT_EQ(driver().cuStreamSynchronize(gpu.stream.get()), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_THAT(fake.fault(), HasSubstr("allocation 2 of device 0 (40 bytes at "));
    EXPECT_THAT(fake.fault(), HasSubstr("fake_fill"));
  }
  const FakeCuda fake;
  TestGpu gpu;
  const DeviceMemory memory(gpu.context, 40);
  *reinterpret_cast<char*>(memory.address() - 3) = 0;
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(fake.fault(), StartsWith("something wrote 3 bytes before allocation 1 of device 0"));
}

TEST(FakeCuda, CopiesOutsideOfAllocationsAreRefused) {
  const FakeCuda fake;
  TestGpu gpu;
  CUdeviceptr given_up = 0;
  {
    const DeviceMemory memory(gpu.context, 64);
    given_up = memory.address();
  }
  const DeviceMemory memory(gpu.context, 64);
  EXPECT_NE(memory.address(), given_up);
  const CUstream stream = gpu.stream.get();
  EXPECT_EQ(driver().cuMemcpyAsync(memory.address(), given_up, 4, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(fake.fault(), HasSubstr("in allocation 1 of device 0"));
  EXPECT_THAT(fake.fault(), HasSubstr("which was given up"));
  const std::array<std::uint32_t, 4> words = {};
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(memory.address() + 56, words.data(), 16, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyAsync(memory.address(), memory.address() + 8, 16, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(memory.address() + 48, words.data(), 16, stream), CUDA_SUCCESS);
}

TEST(CudaModule, SharedMemoryThatNoBlockMayHaveIsRefused) {
  const FakeCuda fake;
  TestGpu gpu;
  EXPECT_NE(gpu.module.function("fake_fill", 60'000), nullptr);
  EXPECT_THAT(error_of([&] { gpu.module.function("fake_fill", 300'000); }), HasSubstr("300000 bytes of shared memory"));
}

TEST(Driver, ErrorsNameTheCallAndTheReason) {
  const FakeCuda fake;
  EXPECT_EQ(error_of([] { check(CUDA_ERROR_NOT_FOUND, "cuThis of that"); }),
            "cuThis of that: CUDA_ERROR_NOT_FOUND, named symbol not found");
  EXPECT_EQ(error_of([] { check(static_cast<CUresult>(12345), "cuThis"); }), "cuThis: CUDA error 12345");
  EXPECT_EQ(error_of([] { CudaContext(7); }),
            "cuDeviceGet of device 7: CUDA_ERROR_INVALID_DEVICE, invalid device ordinal");
}

}  // namespace
}  // namespace spscope::cuda
