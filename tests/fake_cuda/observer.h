// How the fake CUDA driver tells the fake CUPTI of one process what programs do, as a real driver tells a real one:
// each call when it is made, by the thread that makes it, and each piece of work when it has ended. Both are libraries
// of their own, so the fake CUPTI looks spscope_fake_cuda_observe() up.
#pragma once

#include <cstdint>

struct FakeDriverWork {
  enum Kind { kKernel, kCopy, kMemset, kSynchronize };
  int kind = kKernel;
  std::uint32_t correlation = 0;  // of the call
  std::uint32_t device = 0, stream = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  const char* name = nullptr;  // of a kernel
  std::uint32_t grid = 0, block = 0, shared_bytes = 0;
  std::uint64_t bytes = 0;
  bool from_host = false, to_host = false;  // of a copy
  std::uint32_t source_device = 0, target_device = 0;
};

struct FakeDriverObserver {
  // A call by this thread, as CUPTI_DRIVER_TRACE_CBID_* numbers it; its correlation.
  std::uint32_t (*called)(std::uint32_t callback) = nullptr;
  std::uint64_t (*now_ns)() = nullptr;
  void (*worked)(const FakeDriverWork* work) = nullptr;
  // Before and after a call by this thread that starts no work.
  void (*passed)(std::uint32_t callback, bool after) = nullptr;
};

extern "C" {
// From now on; null: nobody. The observer stays where it is as long as the process.
void spscope_fake_cuda_observe(const FakeDriverObserver* observer);
// Whether the process has retained a context.
bool spscope_fake_cuda_has_context();
}
