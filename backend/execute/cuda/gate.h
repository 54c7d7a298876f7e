// Gate: lets a stream wait for the host, so that work is all enqueued before the first of it runs, and times of events
// hold nothing of the host's.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "backend/execute/cuda/memory.h"

namespace spscope::cuda {

class Gate {
 public:
  // Throws Error. The context outlives it.
  explicit Gate(const CudaContext& context) : word_(context, sizeof(std::uint32_t)) {}

 private:
  friend class ClosedGate;
  HostMemory word_;
  std::uint32_t passes_ = 0;
};

// What is enqueued in these streams during its scope begins after it. A queue takes about a thousand pieces of work:
// with more, it would wait for the host, and the host for it.
class ClosedGate {
 public:
  explicit ClosedGate(Gate& gate) : gate_(gate), pass_(++gate.passes_) {}
  ~ClosedGate() { open(); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

  void hold(CUstream stream) const;  // throws Error
  void open() noexcept;

 private:
  Gate& gate_;
  const std::uint32_t pass_;
};

}  // namespace spscope::cuda
