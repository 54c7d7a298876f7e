// The fake NVML, opened, with its controls (tests/fake_nvml/control.h).
#pragma once

#include <gtest/gtest.h>

#include <string>

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
  void reset(const char* settings) {
    library_.call<decltype(spscope_fake_nvml_reset)>("spscope_fake_nvml_reset")(settings);
  }
  int users() { return library_.call<decltype(spscope_fake_nvml_users)>("spscope_fake_nvml_users")(); }
  long long calls(const char* call) {
    return library_.call<decltype(spscope_fake_nvml_calls)>("spscope_fake_nvml_calls")(call);
  }

 private:
  FakeLibrary library_;
};

}  // namespace spscope::nvml
