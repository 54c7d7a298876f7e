#include "tests/inject/device_work.h"

#include "tests/fake_cuda/test_gpu.h"

namespace spscope {

void work_on_device(int rounds) {
  using cuda::check;
  using cuda::driver;
  cuda::Gpu gpu;
  const cuda::DeviceMemory memory(gpu.context, 256);
  const std::vector<std::uint32_t> words(16, 1);
  for (int round = 0; round < rounds; ++round) {
    gpu.fill(memory, 8, 7);
    check(driver().cuMemcpyHtoDAsync(memory.address(), words.data(), 64, gpu.stream.get()), "copy");
    check(driver().cuMemsetD8Async(memory.address(), 0, 32, gpu.stream.get()), "memset");
    gpu.synchronise();
  }
}

}  // namespace spscope
