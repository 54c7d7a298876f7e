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
  long long made() const { return find<decltype(spscope_fake_cuda_made)>("spscope_fake_cuda_made")(); }
  long long launches() const { return find<decltype(spscope_fake_cuda_launches)>("spscope_fake_cuda_launches")(); }

  long long launches_of(const char* kernel, unsigned blocks) const {
    return find<decltype(spscope_fake_cuda_launches_of)>("spscope_fake_cuda_launches_of")(kernel, blocks);
  }

 private:
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_;  // stays open: streams are threads
};

// What went wrong so far in a process that was given its settings by SPSCOPE_FAKE_CUDA; "" when nothing did, and of a
// driver that is no fake.
inline std::string fault_so_far() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const fault = library == nullptr ? nullptr : dlsym(library, "spscope_fake_cuda_fault");
  if (fault == nullptr) return {};
  return reinterpret_cast<decltype(&spscope_fake_cuda_fault)>(fault)();
}

}  // namespace spscope::fake_cuda
