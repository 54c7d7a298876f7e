// The fake CUPTI of one CUDA, opened, with its controls (tests/fake_cupti/control.h).
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "backend/base/check.h"
#include "tests/fake_cupti/control.h"

namespace spscope::cupti {

class FakeCupti {
 public:
  // `cuda` is 11, 12 or 13.
  explicit FakeCupti(int cuda)
      : path_(std::string(SPSCOPE_FAKE_CUPTI_FOLDER) + "/" + std::to_string(cuda) + "/libcupti.so." +
              std::to_string(cuda)),
        library_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    SPSCOPE_CHECK(library_ != nullptr);
    reset("");
  }
  // Whatever a test does, the client keeps to the rules of CUPTI.
  ~FakeCupti() { EXPECT_STREQ(control<decltype(&spscope_fake_cupti_fault)>("spscope_fake_cupti_fault")(), ""); }

  const std::string& path() const { return path_; }
  void reset(const char* settings) {
    control<decltype(&spscope_fake_cupti_reset)>("spscope_fake_cupti_reset")(settings);
  }
  void run(const FakeWork& work, unsigned repeats) {
    control<decltype(&spscope_fake_cupti_run)>("spscope_fake_cupti_run")(&work, repeats);
  }
  long long made() { return control<decltype(&spscope_fake_cupti_made)>("spscope_fake_cupti_made")(); }
  void deliver_late() { control<decltype(&spscope_fake_cupti_deliver_late)>("spscope_fake_cupti_deliver_late")(); }
  unsigned long long enabled() {
    return control<decltype(&spscope_fake_cupti_enabled)>("spscope_fake_cupti_enabled")();
  }
  int enabled_calls() {
    return control<decltype(&spscope_fake_cupti_enabled_calls)>("spscope_fake_cupti_enabled_calls")();
  }
  bool subscribed() {
    return control<decltype(&spscope_fake_cupti_subscribed)>("spscope_fake_cupti_subscribed")() != 0;
  }

 private:
  template <typename Function>
  Function control(const char* name) {
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    SPSCOPE_CHECK(function != nullptr);
    return function;
  }
  std::string path_;
  void* library_;
};

}  // namespace spscope::cupti
