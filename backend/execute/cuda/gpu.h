// Gpu: a device as ranks use it: its context, the kernels loaded there, and its clock against that of the host. A
// process makes one for each device that it uses and keeps it: a context and a module take 0.3 to 0.5 s to make, and
// CUPTI may still hold records of kernels of a module that was unloaded.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <string>

#include "backend/execute/cuda/context.h"
#include "backend/execute/cuda/module.h"
#include "backend/execute/cuda/op_work.h"
#include "backend/execute/cuda/stream.h"

namespace spscope::cuda {

class Gpu {
  class Key {
    friend class Gpu;
    Key() = default;
  };

 public:
  // The device's own, made at the first call, and again where its context has failed: nothing may use that one any
  // more. Not thread-safe. Throws Error.
  static Gpu& of(int device);
  Gpu(Key, int device);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const CudaContext& context() const { return context_; }
  const GpuFacts& facts() const { return facts_; }

  // Before launches of the kernel. Not thread-safe. Throws Error.
  void load(const kernels::cuda::KernelChoice& kernel);
  // Throw Error. REQUIRES: launches were loaded.
  void launch(const Launch& launch, CUstream stream) const;
  void enqueue(const OpWork& work, CUstream stream) const;

  // Times of events are against an event that is recorded now, and when the host saw it end; the clocks drift apart by
  // microseconds in a second, so once a repeat. Throws Error.
  void start_clock();
  // On the raw clock of the host. REQUIRES: the event was recorded after start_clock() and has ended. Throws Error.
  std::int64_t host_ns(const Event& event) const;

 private:
  bool has_failed() const;

  CudaContext context_;
  GpuFacts facts_;
  Module module_;
  struct Loaded {
    CUfunction function = nullptr;
    std::int64_t shared_bytes = 0;  // that a block may have
  };
  std::map<std::string, Loaded> functions_;
  Stream clock_;
  std::unique_ptr<Event> start_, spare_;
  std::int64_t start_ns_ = 0;
};

}  // namespace spscope::cuda
