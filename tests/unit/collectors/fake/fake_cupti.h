// The fake CUPTI of one CUDA, opened, with its controls (tests/fake_cupti/control.h).
#pragma once

#include <gtest/gtest.h>

#include <string>

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
  ~FakeCupti() { EXPECT_STREQ(library_.call<decltype(spscope_fake_cupti_fault)>("spscope_fake_cupti_fault")(), ""); }

  const std::string& path() const { return library_.path(); }
  void reset(const char* settings) {
    library_.call<decltype(spscope_fake_cupti_reset)>("spscope_fake_cupti_reset")(settings);
  }
  void run(const FakeWork& work, unsigned repeats) {
    library_.call<decltype(spscope_fake_cupti_run)>("spscope_fake_cupti_run")(&work, repeats);
  }
  long long made() { return library_.call<decltype(spscope_fake_cupti_made)>("spscope_fake_cupti_made")(); }
  void end_kernels() { library_.call<decltype(spscope_fake_cupti_end_kernels)>("spscope_fake_cupti_end_kernels")(); }
  int take_over() { return library_.call<decltype(spscope_fake_cupti_take_over)>("spscope_fake_cupti_take_over")(); }
  void deliver_late() { library_.call<decltype(spscope_fake_cupti_deliver_late)>("spscope_fake_cupti_deliver_late")(); }
  unsigned long long enabled() {
    return library_.call<decltype(spscope_fake_cupti_enabled)>("spscope_fake_cupti_enabled")();
  }
  int enabled_calls() {
    return library_.call<decltype(spscope_fake_cupti_enabled_calls)>("spscope_fake_cupti_enabled_calls")();
  }
  bool subscribed() {
    return library_.call<decltype(spscope_fake_cupti_subscribed)>("spscope_fake_cupti_subscribed")() != 0;
  }

 private:
  FakeLibrary library_;
};

}  // namespace spscope::cupti
