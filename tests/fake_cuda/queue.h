// Queue: a hardware queue of the fake device, whose work a thread does in order. Work is put into streams, and a stream
// is in a queue that it may share.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

struct CUctx_st;
struct CUstream_st;

namespace spscope::fake_cuda {

class Queue {
 public:
  // The thread lives until close() and the end of its work, or as long as the process.
  static std::shared_ptr<Queue> start(unsigned jitter_seed);
  void push(std::function<void()> work);
  void close();

 private:
  void work(unsigned jitter_seed);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool closed_ = false;
};

// Puts work into a stream. A Fault that it throws fails the stream's context; in a context that has failed nothing
// runs.
void enqueue(CUstream_st& stream, std::function<void()> work);
// Waits until all that was enqueued has ended. Throws Fault once the context has failed.
void wait_for(CUstream_st& stream);
bool is_idle(CUstream_st& stream);
// Of every stream of the context.
void wait_for_all(CUctx_st& context);

// For work that waits for somebody else: tries `reached` again and again. Throws Fault once the context has failed.
void wait_until(const CUctx_st& context, const std::function<bool()>& reached);

// The stream whose work this thread does. REQUIRES: called by such work.
CUstream_st& running_stream();
// Work that began then goes on until it has taken Settings::slow times as long.
void stretch(std::chrono::steady_clock::time_point begin);

// Of the running stream: planted or of the host.
double now_ns();

}  // namespace spscope::fake_cuda
