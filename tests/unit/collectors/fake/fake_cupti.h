// The fake CUPTI of one CUDA, opened, with its controls (tests/fake_cupti/control.h).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "tests/fake_cupti/control.h"
#include "tests/support/fake_library.h"

namespace spscope::cupti {

inline constexpr FakeWork kEachKind = {
    .launches = 3, .copies = 2, .peer_copies = 1, .memsets = 1, .synchronisations = 1, .markers = 1, .overheads = 1};

class FakeCupti {
 public:
  // `cuda` is 11, 12 or 13.
  explicit FakeCupti(int cuda)
      : library_(std::string(SPSCOPE_FAKE_CUPTI_FOLDER) + "/" + std::to_string(cuda) + "/libcupti.so." +
                 std::to_string(cuda)) {
    reset("");
  }
  // Whatever a test does, the client keeps to the rules of CUPTI.
  ~FakeCupti() { EXPECT_STREQ(call<decltype(spscope_fake_cupti_fault)>("fault"), ""); }

  const std::string& path() const { return library_.path(); }
  void reset(const char* settings) { call<decltype(spscope_fake_cupti_reset)>("reset", settings); }
  void run(const FakeWork& work, unsigned repeats) { call<decltype(spscope_fake_cupti_run)>("run", &work, repeats); }
  long long made() { return call<decltype(spscope_fake_cupti_made)>("made"); }
  void end_kernels() { call<decltype(spscope_fake_cupti_end_kernels)>("end_kernels"); }
  int take_over() { return call<decltype(spscope_fake_cupti_take_over)>("take_over"); }
  void deliver_late() { call<decltype(spscope_fake_cupti_deliver_late)>("deliver_late"); }
  unsigned long long enabled() { return call<decltype(spscope_fake_cupti_enabled)>("enabled"); }
  int enabled_calls() { return call<decltype(spscope_fake_cupti_enabled_calls)>("enabled_calls"); }
  bool subscribed() { return call<decltype(spscope_fake_cupti_subscribed)>("subscribed") != 0; }

 private:
  template <typename Function, typename... Arguments>
  std::invoke_result_t<Function*, Arguments...> call(const std::string& name, Arguments... arguments) {
    return library_.call<Function>(("spscope_fake_cupti_" + name).c_str())(arguments...);
  }

  FakeLibrary library_;
};

}  // namespace spscope::cupti
