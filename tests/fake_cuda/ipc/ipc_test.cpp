// The fake CUDA driver in two processes. Apart from the other tests: ThreadSanitizer takes no process that forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

#include "tests/fake_cuda/test_gpu.h"

namespace spscope::cuda {
namespace {

using fake_cuda::FakeCuda;
using ::testing::HasSubstr;

// A process that does `work` and ends with what it returns; 9 when it throws. It ends without GoogleTest.
pid_t process_of(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 9;
  EXPECT_EQ(error_of([&] { code = work(); }), "");
  ::_exit(code);
}

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// The child opens the parent's memory by its handle and writes to it.
TEST(FakeCudaIpc, ProcessesShareMemoryByHandles) {
  std::array<int, 2> to_child{};
  ASSERT_EQ(pipe(to_child.data()), 0);
  const pid_t child = process_of([&] {
    CUipcMemHandle handle{};
    if (read(to_child[0], &handle, sizeof handle) != sizeof handle) return 2;
    const FakeCuda fake;
    TestGpu gpu;
    const IpcMemory opened(gpu.context, handle);
    check(driver().cuMemsetD8Async(opened.address() + 4, 42, 4, gpu.stream.get()), "fill");
    gpu.synchronise();
    const CUresult outside = driver().cuMemsetD8Async(opened.address() + 8, 42, 4, gpu.stream.get());
    return outside == CUDA_ERROR_INVALID_VALUE ? 0 : 3;
  });
  const FakeCuda fake;
  TestGpu gpu;
  const DeviceMemory memory(gpu.context, 8);
  const CUipcMemHandle handle = memory.ipc_handle();
  ASSERT_EQ(write(to_child[1], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(gpu.words(memory), (std::vector<std::uint32_t>{0xffffffff, 0x2a2a2a2a}));
  EXPECT_THAT(error_of([&] { const IpcMemory own(gpu.context, handle); }), HasSubstr("CUDA_ERROR_INVALID_CONTEXT"));
  close(to_child[0]);
  close(to_child[1]);
}

TEST(FakeCudaIpc, MemoryOfADeadProcessCannotBeOpened) {
  std::array<int, 2> to_parent{};
  ASSERT_EQ(pipe(to_parent.data()), 0);
  const pid_t child = process_of([&] {
    const FakeCuda fake("kill=fake_fill:1");
    TestGpu gpu;
    const DeviceMemory memory(gpu.context, 8);
    const CUipcMemHandle handle = memory.ipc_handle();
    if (write(to_parent[1], &handle, sizeof handle) != sizeof handle) return 2;
    gpu.fill(memory, 1, 1);
    gpu.synchronise();
    return 3;
  });
  CUipcMemHandle handle{};
  ASSERT_EQ(read(to_parent[0], &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  const int status = status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const FakeCuda fake;
  TestGpu gpu;
  EXPECT_THAT(error_of([&] { const IpcMemory gone(gpu.context, handle); }),
              HasSubstr("cuIpcOpenMemHandle on device 0"));
  close(to_parent[0]);
  close(to_parent[1]);
}

}  // namespace
}  // namespace spscope::cuda
