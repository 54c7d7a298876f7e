// The GPUs of this machine, and CudaContext: the primary context of one, which calls of the driver need to be current
// in their thread.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spscope::cuda {

struct GpuFacts {
  std::string name;
  int major = 0, minor = 0;                                      // compute capability
  int compute_capability() const { return 10 * major + minor; }  // 90 for an H100
  int num_sms = 0;
  std::int64_t max_shared_bytes = 0;        // of a block
  int clock_mhz = 0, memory_clock_mhz = 0;  // the highest
  std::int64_t memory_bytes = 0;
  std::string bus_id;
  std::string uuid;  // 16 bytes: the same in every process, whichever GPUs it may use; of a MIG slice its own
};
// In the order of the driver. Throws Error.
std::vector<GpuFacts> gpus();

class CudaContext {
 public:
  // Throws Error.
  explicit CudaContext(int device);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  int device() const { return device_; }
  CUcontext get() const { return context_; }
  // Waits for all work of the context, whoever enqueued it in this process. Throws Error.
  void synchronise() const;

 private:
  int device_;
  CUcontext context_ = nullptr;
};

bool push_context(const CudaContext& context) noexcept;  // false: the context can no longer be used
void pop_context() noexcept;

// Makes a context current in this thread for its scope; scopes nest.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);  // throws Error
  ~CurrentContext() { pop_context(); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
};

// For destructors: calls `release` with the context current. Nothing when it can no longer be made current.
template <typename Release>
void release_in(const CudaContext& context, const Release& release) {
  if (!push_context(context)) return;
  release();
  pop_context();
}

// Lets kernels and copies of `context` reach memory of `other`. False: the hardware has no way. Throws Error.
bool enable_peer_access(const CudaContext& context, const CudaContext& other);

}  // namespace spscope::cuda
