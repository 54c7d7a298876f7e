// FakeCuda: how a test steers the fake CUDA driver of its process. Each one begins with a driver as after a reset.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "tests/fake_cuda/control.h"
#include "tests/support/fake_library.h"

namespace spscope::fake_cuda {

class FakeCuda {
 public:
  // `settings` as in settings.h. Throws Error where the driver that would be used is no fake.
  explicit FakeCuda(const std::string& settings = "") : library_("libcuda.so.1") {
    library_.call<decltype(spscope_fake_cuda_reset)>("spscope_fake_cuda_reset")(settings.c_str());
  }
  FakeCuda(const FakeCuda&) = delete;

  std::string fault() const { return call<decltype(spscope_fake_cuda_fault)>("spscope_fake_cuda_fault"); }
  long long count(const char* what) const {
    return call<decltype(spscope_fake_cuda_count)>("spscope_fake_cuda_count", what);
  }
  long long enqueued(long long& most) const {
    return call<decltype(spscope_fake_cuda_enqueued)>("spscope_fake_cuda_enqueued", &most);
  }
  long long launches_of(const char* kernel, unsigned blocks) const {
    return call<decltype(spscope_fake_cuda_launches_of)>("spscope_fake_cuda_launches_of", kernel, blocks);
  }

 private:
  template <typename Function, typename... Arguments>
  std::invoke_result_t<Function*, Arguments...> call(const char* name, Arguments... arguments) const {
    return library_.call<Function>(name)(arguments...);
  }

  FakeLibrary library_;
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
