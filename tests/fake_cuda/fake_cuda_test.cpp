// The fake CUDA driver, and the owners of backend/execute/cuda on it: order, values and times as CUDA promises them,
// and writes outside of allocations, which it must notice. What it plants is proven where it is planted
// (tests/gpu_ranks).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/fake_cuda/test_gpu.h"

namespace spscope::cuda {
namespace {

using fake_cuda::FakeCuda;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FakeCuda, NewMemoryIsNaN) {
  const FakeCuda fake;
  TestGpu gpu;
  const DeviceMemory memory(gpu.context, 12);
  for (const std::uint32_t word : gpu.words(memory)) EXPECT_TRUE(std::isnan(std::bit_cast<float>(word)));
}

TEST(FakeCuda, CopiesKeepTheirRowsAndPitch) {
  const FakeCuda fake("devices=2");
  TestGpu gpu, other(1);
  const DeviceMemory from(gpu.context, 64), to(other.context, 96);
  std::vector<std::uint32_t> words(16);
  for (std::uint32_t i = 0; i < 16; ++i) words[i] = i;
  check(driver().cuMemcpyHtoDAsync(from.address(), words.data(), 64, gpu.stream.get()), "copy");
  words.assign(16, 99);  // what was taken when the call was made counts
  gpu.fill(to, 24, 7);
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = from.address() + 4;
  rows.srcPitch = 16;
  rows.dstDevice = to.address();
  rows.dstPitch = 24;
  rows.WidthInBytes = 8;
  rows.Height = 4;
  check(driver().cuMemcpy2DAsync(&rows, gpu.stream.get()), "copy");
  gpu.synchronise();
  std::vector<std::uint32_t> expected(24, 7);
  for (std::uint32_t row = 0; row < 4; ++row)
    for (std::uint32_t column = 0; column < 2; ++column) expected[row * 6 + column] = row * 4 + column + 1;
  EXPECT_EQ(other.words(to), expected);
}

TEST(FakeCuda, AStreamRunsInOrderAndEventsOrderStreams) {
  for (const char* const settings : {"", "jitter=3", "queues=1", "queues=2 jitter=5"}) {
    const FakeCuda fake(settings);
    TestGpu gpu;
    const Stream second(gpu.context);
    const Event filled(gpu.context, EventTiming::kNone);
    const DeviceMemory memory(gpu.context, 4096);
    const CUfunction add = gpu.module.function("fake_add", 0);
    const auto words = reinterpret_cast<std::uint32_t*>(memory.address());
    for (std::uint32_t round = 0; round < 50; ++round) {
      gpu.fill(memory, 1024, round);
      check(driver().cuEventRecord(filled.get(), gpu.stream.get()), "record");
      check(driver().cuStreamWaitEvent(second.get(), filled.get(), 0), "wait");
      check(launch(add, second.get(), fake_cuda::AddToWords{words, 1024, 1000}), "fake_add");
      check(driver().cuEventRecord(filled.get(), second.get()), "record");
      check(driver().cuStreamWaitEvent(gpu.stream.get(), filled.get(), 0), "wait");
    }
    EXPECT_EQ(gpu.words(memory), std::vector<std::uint32_t>(1024, 1049)) << settings;
    EXPECT_EQ(fake.launches(), 100) << settings;
  }
}

TEST(FakeCuda, WhatWaitsAtTheHeadOfASharedQueueHoldsUpTheRest) {
  const FakeCuda fake("queues=1");
  TestGpu gpu;
  const Stream second(gpu.context);
  const HostMemory words(gpu.context, 8);
  const DeviceMemory memory(gpu.context, 4);
  check(driver().cuStreamWaitValue32(gpu.stream.get(), words.address(), 1, CU_STREAM_WAIT_VALUE_EQ), "wait");
  check(driver().cuMemsetD8Async(memory.address(), 1, 4, second.get()), "fill");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(driver().cuStreamQuery(second.get()), CUDA_ERROR_NOT_READY);
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(words.bytes().data())).store(1);
  EXPECT_EQ(driver().cuStreamSynchronize(second.get()), CUDA_SUCCESS);
}

TEST(FakeCuda, StreamsWriteAndWaitForValues) {
  const FakeCuda fake;
  TestGpu gpu;
  const Stream second(gpu.context);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  {
    const RegisteredMemory shared(gpu.context, {static_cast<std::byte*>(page), 4096});
    const DeviceMemory memory(gpu.context, 4);
    check(driver().cuStreamWaitValue32(second.get(), shared.address() + 8, 5, CU_STREAM_WAIT_VALUE_GEQ), "wait");
    check(driver().cuMemsetD8Async(memory.address(), 2, 4, second.get()), "fill");
    check(driver().cuMemsetD8Async(memory.address(), 1, 4, gpu.stream.get()), "fill");
    check(driver().cuStreamWriteValue32(gpu.stream.get(), shared.address() + 8, 6, 0), "write");
    check(driver().cuStreamSynchronize(second.get()), "synchronise");
    EXPECT_EQ(gpu.words(memory), std::vector<std::uint32_t>{0x02020202});
  }
  munmap(page, 4096);
}

TEST(FakeCuda, EventsTellTimeInOrder) {
  const FakeCuda fake;
  TestGpu gpu;
  const Event begin(gpu.context, EventTiming::kTimed), end(gpu.context, EventTiming::kTimed);
  const Event untimed(gpu.context, EventTiming::kNone);
  const HostMemory words(gpu.context, 4);
  float milliseconds = 0;
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, begin.get(), end.get()), CUDA_ERROR_INVALID_HANDLE);
  check(driver().cuEventRecord(begin.get(), gpu.stream.get()), "record");
  check(driver().cuStreamWaitValue32(gpu.stream.get(), words.address(), 1, CU_STREAM_WAIT_VALUE_EQ), "wait");
  check(driver().cuEventRecord(end.get(), gpu.stream.get()), "record");
  check(driver().cuEventRecord(untimed.get(), gpu.stream.get()), "record");
  check(driver().cuEventSynchronize(begin.get()), "synchronise");
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, begin.get(), end.get()), CUDA_ERROR_NOT_READY);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(words.bytes().data())).store(1);
  gpu.synchronise();
  check(driver().cuEventElapsedTime(&milliseconds, begin.get(), end.get()), "time");
  EXPECT_GE(milliseconds, 30.0F);
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, begin.get(), untimed.get()), CUDA_ERROR_INVALID_HANDLE);
}

TEST(FakeCuda, AWriteOutsideNamesTheAllocation) {
  const FakeCuda fake;
  TestGpu gpu;
  const DeviceMemory first(gpu.context, 100), second(gpu.context, 40);
  gpu.fill(second, 11, 0);  // one word too far
  EXPECT_THAT(error_of([&] { gpu.synchronise(); }), HasSubstr("CUDA_ERROR_"));
  EXPECT_THAT(fake.fault(), HasSubstr("allocation 2 of device 0 (40 bytes at "));
  EXPECT_THAT(fake.fault(), HasSubstr("fake_fill"));
}

TEST(FakeCuda, AWriteOutsideByNobodyKnownIsFoundAtSynchronise) {
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
  const std::vector<std::uint32_t> pageable(4);
  EXPECT_EQ(driver().cuMemcpyAsync(memory.address(), reinterpret_cast<CUdeviceptr>(pageable.data()), 4, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(memory.address() + 56, pageable.data(), 16, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyAsync(memory.address(), memory.address() + 8, 16, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyHtoDAsync(memory.address() + 48, pageable.data(), 16, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(given_up), CUDA_ERROR_INVALID_VALUE);
}

TEST(FakeCuda, AFailedLaunchStays) {
  const FakeCuda fake("fail=fake_*:2");
  TestGpu gpu;
  const DeviceMemory memory(gpu.context, 4);
  gpu.fill(memory, 1, 1);
  gpu.synchronise();
  gpu.fill(memory, 1, 2);
  EXPECT_THAT(error_of([&] { gpu.synchronise(); }), HasSubstr("CUDA_ERROR_LAUNCH_FAILED, unspecified launch failure"));
  EXPECT_EQ(driver().cuMemsetD8Async(memory.address(), 0, 4, gpu.stream.get()), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(*reinterpret_cast<std::uint32_t*>(memory.address()), 1u);
  EXPECT_EQ(fake.fault(), "planted: fake_fill fails");
}

TEST(FakeCuda, AKernelsOwnFaultIsAFailedLaunch) {
  const FakeCuda fake;
  TestGpu gpu;
  check(launch(gpu.module.function("fake_fault", 0), gpu.stream.get(), fake_cuda::RunIntoFault{}), "launch");
  EXPECT_THAT(error_of([&] { gpu.synchronise(); }), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
  EXPECT_EQ(fake.fault(), "fake_fault: fake_fault ran into its fault");
}

TEST(FakeCuda, LaunchesThatNoDeviceTakesAreRefused) {
  const FakeCuda fake;
  TestGpu gpu;
  const DeviceMemory memory(gpu.context, 4);
  const fake_cuda::FillWords argument{reinterpret_cast<std::uint32_t*>(memory.address()), 1, 1};
  EXPECT_EQ(launch(gpu.module.function("fake_fill", 0), gpu.stream.get(), argument, 49153), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(gpu.module.function("fake_fill", 60000), gpu.stream.get(), argument, 49153), CUDA_SUCCESS);
  EXPECT_THAT(error_of([&] { gpu.module.function("fake_fill", 300000); }), HasSubstr("300000 bytes of shared memory"));
}

TEST(CudaContext, PeersReachEachOtherWhereTheHardwareCan) {
  {
    const FakeCuda fake("devices=2");
    const CudaContext first(0), second(1);
    EXPECT_TRUE(enable_peer_access(first, second));
    EXPECT_TRUE(enable_peer_access(first, second));
    EXPECT_TRUE(enable_peer_access(first, first));
  }
  const FakeCuda fake("devices=2 peer=0");
  const CudaContext first(0), second(1);
  EXPECT_FALSE(enable_peer_access(first, second));
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
