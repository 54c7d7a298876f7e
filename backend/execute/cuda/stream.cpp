#include "backend/execute/cuda/stream.h"

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {

Stream::Stream(const CudaContext& context, StreamPriority priority) : context_(context) {
  const CurrentContext current(context);
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  check(driver().cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING,
                                            priority == StreamPriority::kGreatest ? greatest : least),
        "cuStreamCreateWithPriority");
}

Stream::~Stream() {
  release_in(context_, [&] { driver().cuStreamDestroy(stream_); });
}

Event::Event(const CudaContext& context, EventTiming timing) : context_(context) {
  const CurrentContext current(context);
  check(driver().cuEventCreate(&event_, timing == EventTiming::kTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
}

Event::~Event() {
  release_in(context_, [&] { driver().cuEventDestroy(event_); });
}

double elapsed_ns(const Event& begin, const Event& end) {
  float ms = 0;
  check(driver().cuEventElapsedTime(&ms, begin.get(), end.get()), "cuEventElapsedTime");
  return double{ms} * 1e6;
}

}  // namespace spscope::cuda
