// What the tests of the fake CUDA driver share: a device with a stream and its kernels.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/memory.h"
#include "backend/execute/cuda/module.h"
#include "backend/execute/cuda/stream.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/test_kernels.h"

namespace spscope::cuda {

inline constexpr std::array<std::uint32_t, 1> kImage = {0xba55ed50};  // the mark of a fat binary

// The words of the Error that `work` throws; "" when it throws none.
inline std::string error_of(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

template <typename Argument>
CUresult launch(CUfunction function, CUstream stream, Argument argument, unsigned shared_bytes = 0) {
  std::array<void*, 1> arguments = {&argument};
  return driver().cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, shared_bytes, stream, arguments.data(), nullptr);
}

// One device with a stream and the kernels of the fake's tests.
struct TestGpu {
  explicit TestGpu(int device = 0)
      : context(device), current(context), stream(context), module(context, std::as_bytes(std::span(kImage))) {}

  std::vector<std::uint32_t> words(const DeviceMemory& memory) {
    std::vector<std::uint32_t> words(memory.num_bytes() / 4);
    check(driver().cuMemcpyDtoHAsync(words.data(), memory.address(), memory.num_bytes(), stream.get()), "copy");
    return words;
  }
  void fill(const DeviceMemory& memory, std::uint32_t num_words, std::uint32_t value) {
    const fake_cuda::FillWords argument{reinterpret_cast<std::uint32_t*>(memory.address()), num_words, value};
    check(launch(module.function("fake_fill", 0), stream.get(), argument), "fake_fill");
  }
  void synchronise() { check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize"); }

  CudaContext context;
  CurrentContext current;
  Stream stream;
  Module module;
};

}  // namespace spscope::cuda
