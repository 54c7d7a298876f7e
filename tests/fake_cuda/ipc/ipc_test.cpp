// The fake CUDA driver in two processes. Apart from the other tests: ThreadSanitizer takes no process that forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "tests/fake_cuda/test_gpu.h"

namespace spscope::cuda {
namespace {

using fake_cuda::FakeCuda;
using ::testing::HasSubstr;

// The child opens the parent's memory by its handle and writes to it. It leaves by a signal's way, without GoogleTest.
TEST(FakeCuda, ProcessesShareMemoryByHandles) {
  std::array<int, 2> to_child{};
  ASSERT_EQ(pipe(to_child.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    CUipcMemHandle handle{};
    if (read(to_child[0], &handle, sizeof handle) != sizeof handle) _exit(2);
    const FakeCuda fake;
    Gpu gpu;
    const IpcMemory opened(gpu.context, handle);
    check(driver().cuMemsetD32Async(opened.address() + 4, 42, 1, gpu.stream.get()), "fill");
    gpu.synchronise();
    const CUresult outside = driver().cuMemsetD32Async(opened.address() + 8, 42, 1, gpu.stream.get());
    _exit(outside == CUDA_ERROR_INVALID_VALUE ? 0 : 3);
  }
  const FakeCuda fake;
  Gpu gpu;
  const DeviceMemory memory(gpu.context, 8);
  const CUipcMemHandle handle = memory.ipc_handle();
  ASSERT_EQ(write(to_child[1], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(gpu.words(memory), (std::vector<std::uint32_t>{0xffffffff, 42}));
  EXPECT_THAT(error_of([&] { const IpcMemory own(gpu.context, handle); }), HasSubstr("CUDA_ERROR_INVALID_CONTEXT"));
  close(to_child[0]);
  close(to_child[1]);
}

TEST(FakeCuda, MemoryOfADeadProcessCannotBeOpened) {
  std::array<int, 2> to_parent{};
  ASSERT_EQ(pipe(to_parent.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FakeCuda fake("kill=fake_fill:1");
    Gpu gpu;
    const DeviceMemory memory(gpu.context, 8);
    const CUipcMemHandle handle = memory.ipc_handle();
    if (write(to_parent[1], &handle, sizeof handle) != sizeof handle) _exit(2);
    gpu.fill(memory, 1, 1);
    gpu.synchronise();
    _exit(3);
  }
  CUipcMemHandle handle{};
  ASSERT_EQ(read(to_parent[0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const FakeCuda fake;
  Gpu gpu;
  EXPECT_THAT(error_of([&] { const IpcMemory gone(gpu.context, handle); }),
              HasSubstr("cuIpcOpenMemHandle on device 0"));
  close(to_parent[0]);
  close(to_parent[1]);
}

}  // namespace
}  // namespace spscope::cuda
