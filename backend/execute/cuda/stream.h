// Owners of streams and events. A context outlives what is made in it. Constructors throw Error.
#pragma once

#include <cuda.h>

#include "backend/execute/cuda/context.h"

namespace spscope::cuda {

enum class StreamPriority { kLeast, kGreatest };

// A queue of work that runs in order, and beside that of other streams; it never waits for the default stream.
class Stream {
 public:
  explicit Stream(const CudaContext& context, StreamPriority priority = StreamPriority::kLeast);
  ~Stream();  // its work ends by itself
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream get() const { return stream_; }

 private:
  const CudaContext& context_;
  CUstream stream_ = nullptr;
};

enum class EventTiming { kNone, kTimed };

class Event {
 public:
  Event(const CudaContext& context, EventTiming timing);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent get() const { return event_; }

 private:
  const CudaContext& context_;
  CUevent event_ = nullptr;
};

// Nanoseconds between two timed events that were reached. Throws Error.
double elapsed_ns(const Event& begin, const Event& end);

}  // namespace spscope::cuda
