#include "tests/fake_cuda/program/device_work.h"

#include <cuda.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "tests/fake_cuda/kernels.h"

namespace spscope::fake_cuda {
namespace {

constexpr std::array<std::uint32_t, 1> kImage = {0xba55ed50};  // the mark of a fat binary
constexpr std::uint32_t kWords = 64;

void check(CUresult result) {
  if (result != CUDA_SUCCESS) throw std::runtime_error("the driver says " + std::to_string(result));
}

}  // namespace

void work_on_device(int rounds, int gpu) {
  work_on_device_while([&] { return rounds-- > 0; }, gpu);
}

void work_on_device_while(const std::function<bool()>& goes_on, int gpu) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  check(cuInit(0));
  check(cuDevicePrimaryCtxRetain(&context, gpu));
  check(cuCtxPushCurrent(context));
  check(cuModuleLoadData(&module, kImage.data()));
  check(cuModuleGetFunction(&fill, module, "fake_fill"));
  check(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  check(cuMemAlloc(&memory, kWords * sizeof(std::uint32_t)));
  const std::array<std::uint32_t, kWords> words = {};
  FillWords argument = {reinterpret_cast<std::uint32_t*>(memory), kWords, 7};
  std::array<void*, 1> arguments = {&argument};
  while (goes_on()) {
    check(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, arguments.data(), nullptr));
    check(cuMemcpyHtoDAsync(memory, words.data(), sizeof words, stream));
    check(cuMemsetD8Async(memory, 0, 32, stream));
    check(cuStreamSynchronize(stream));
  }
}

}  // namespace spscope::fake_cuda
