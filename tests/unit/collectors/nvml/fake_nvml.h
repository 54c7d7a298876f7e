// The fake NVML, opened, with its controls (tests/fake_nvml/control.h).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "tests/fake_nvml/control.h"
#include "tests/support/fake_library.h"

namespace spscope::nvml {

class FakeNvml {
 public:
  // "nvidia-ml-old" is of a driver of before R535.
  explicit FakeNvml(const std::string& name = "nvidia-ml")
      : library_(std::string(SPSCOPE_FAKE_NVML_FOLDER) + "/lib" + name + ".so.1") {
    reset("");
  }
  ~FakeNvml() { EXPECT_EQ(users(), 0) << "whoever initialised NVML shuts it down"; }
  const std::string& path() const { return library_.path(); }
  void reset(const char* settings) { call<decltype(spscope_fake_nvml_reset)>("reset", settings); }
  int users() { return call<decltype(spscope_fake_nvml_users)>("users"); }
  long long calls(const char* name) { return call<decltype(spscope_fake_nvml_calls)>("calls", name); }

 private:
  template <typename Function, typename... Arguments>
  std::invoke_result_t<Function*, Arguments...> call(const std::string& name, Arguments... arguments) {
    return library_.call<Function>(("spscope_fake_nvml_" + name).c_str())(arguments...);
  }

  FakeLibrary library_;
};

}  // namespace spscope::nvml
