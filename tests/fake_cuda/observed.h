// What the observer (observer.h), if there is one, is told.
#pragma once

#include "tests/fake_cuda/observer.h"

struct CUstream_st;

namespace spscope::fake_cuda {

// CUPTI_DRIVER_TRACE_CBID_*, which never change.
inline constexpr std::uint32_t kStreamSynchronizeCall = 126, kMemsetCall = 216, kCopyCall = 306, kLaunchCall = 307;

inline constexpr std::uint32_t kProfilerStartCall = 308, kProfilerStopCall = 309;

// A call that starts no work.
void observe_call(std::uint32_t callback);

// A piece of work from its call to its end: what it is, is filled in between.
class Observed {
 public:
  // By the thread that makes the call.
  Observed(std::uint32_t callback, int kind, const CUstream_st& stream);

  // By whoever does the work.
  void begin();
  void end();

  FakeDriverWork work;

 private:
  const FakeDriverObserver* observer_;
};

}  // namespace spscope::fake_cuda
