// State of the fake CUDA driver: contexts, streams, events, modules. Handles of <cuda.h> are these structs; none is
// ever given back to the allocator, so that a handle that was destroyed is known as such.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cuda/allocations.h"
#include "tests/fake_cuda/kernels.h"
#include "tests/fake_cuda/queue.h"
#include "tests/fake_cuda/settings.h"

namespace spscope::fake_cuda {
struct FakeDriver;
}

// The primary context of a device.
struct CUctx_st {
  spscope::fake_cuda::FakeDriver* driver = nullptr;
  int device = 0;
  int users = 0;
  std::atomic<int> failed = CUDA_SUCCESS;  // once set, every call returns it and no work is done any more
  std::set<int> peers;
  std::atomic<int> held_sms = 0;  // by kernels that do nothing else
};

struct CUstream_st {
  CUctx_st* context = nullptr;
  std::shared_ptr<spscope::fake_cuda::Queue> queue;
  int number = 0;  // counted from 1
  int priority = 0;
  std::atomic<bool> destroyed = false;
  std::mutex mutex;  // of both counts
  std::condition_variable ended;
  std::int64_t num_enqueued = 0, num_ended = 0;
  double planted_ns = 0;  // its clock with Settings::planted_times, for the thread of its queue
};

namespace spscope::fake_cuda {

// One cuEventRecord().
struct Record {
  std::mutex mutex;
  std::condition_variable reached;
  bool done = false;
  double time_ns = 0;
};

}  // namespace spscope::fake_cuda

struct CUevent_st {
  CUctx_st* context = nullptr;
  bool timed = false;
  std::atomic<bool> destroyed = false;
  std::shared_ptr<spscope::fake_cuda::Record> last;  // nullptr: never recorded
};

struct CUmod_st {
  CUctx_st* context = nullptr;
  std::atomic<bool> destroyed = false;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

struct CUfunc_st {
  CUctx_st* context = nullptr;
  std::atomic<bool> destroyed = false;
  std::string name;
  spscope::fake_cuda::Kernel kernel;
  unsigned max_shared_bytes = 49152;
};

namespace spscope::fake_cuda {

struct FakeDriver {
  explicit FakeDriver(Settings given) : settings(std::move(given)) {}

  Settings settings;
  FakeDriver* before = nullptr;  // the one that a reset ended
  std::atomic<bool> initialised = false;
  Allocations allocations;
  std::mutex mutex;  // of what follows, and of what handles say of themselves
  std::map<std::pair<std::string, unsigned>, std::int64_t> launches;  // by kernel and blocks of its grid
  std::vector<std::unique_ptr<CUctx_st>> contexts, broken_contexts;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::vector<std::unique_ptr<CUmod_st>> modules;
  std::map<int, std::vector<std::shared_ptr<Queue>>> queues;  // by device: that streams share, with Settings::queues
  std::map<std::thread::id, long long> enqueued;              // by thread: calls that enqueued work
  std::atomic<int> words = 0, word_calls = 0;                 // that streams write; calls that enqueued them, or waits
  int contexts_made = 0;                                      // retained by nobody before
  std::string fault;                                          // the first one, in words
};

FakeDriver& fake();
std::unique_ptr<CUctx_st> make_context(FakeDriver& driver, int device);
// Contexts of before fail from now on.
void start_again(std::string_view settings);

// Prints the fault and keeps it if it is the first one; it has no words when it is part of what the driver is for.
void report(const Fault& fault);
// The context is unusable from now on.
void fail(CUctx_st& context, const Fault& fault);
// Throws Fault once the context has failed.
void require_sound(const CUctx_st& context);

// The current context of this thread. Throws Fault.
CUctx_st& current_context();
std::vector<CUctx_st*>& context_stack();

// What a handle is of, in the current context or another one. Throws Fault.
template <typename Made>
Made& made(Made* handle) {
  if (handle == nullptr || handle->destroyed)
    throw Fault{CUDA_ERROR_INVALID_HANDLE, "a handle is of nothing, or of what was destroyed"};
  require_sound(*handle->context);
  return *handle;
}

// What each call does around its work: results of Faults, and of a driver that has not been initialised.
CUresult call(const std::function<void()>& work);

}  // namespace spscope::fake_cuda
