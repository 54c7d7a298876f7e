// FakeCuda: how a test steers the fake CUDA driver of its process. Each one begins with a driver as after a reset.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

#include "tests/fake_cuda/control.h"

namespace spscope::fake_cuda {

class FakeCuda {
 public:
  // `settings` as in settings.h. Throws std::runtime_error where the driver that would be used is no fake.
  explicit FakeCuda(const std::string& settings = "") : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr || dlsym(library_, "spscope_fake_cuda_reset") == nullptr)
      throw std::runtime_error("libcuda.so.1 is not the fake of tests/fake_cuda");
    find<decltype(spscope_fake_cuda_reset)>("spscope_fake_cuda_reset")(settings.c_str());
  }
  FakeCuda(const FakeCuda&) = delete;

  std::string fault() const { return find<decltype(spscope_fake_cuda_fault)>("spscope_fake_cuda_fault")(); }
  long long launches() const { return find<decltype(spscope_fake_cuda_launches)>("spscope_fake_cuda_launches")(); }

 private:
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_;  // stays open: streams are threads
};

}  // namespace spscope::fake_cuda
