// HeldProcessors: confines what a GPU computes to fewer of its multiprocessors (SMs), as a library of communication
// does whose kernels copy.
//
// A kernel of n blocks waits on the device (kernels/cuda/hold.cuh), each with all the shared memory that a block may
// have, so that it is alone on its SM, and no block of attention, which needs shared memory, fits beside it. It was
// chosen over a grid of attention that is limited to fewer SMs, since the kernels of runs have a block for each piece
// of work, and over partitions of the driver (green contexts), which split a GPU by eights only.
#pragma once

#include <cuda.h>

#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/memory.h"

namespace spscope::cuda {

class HeldProcessors {
 public:
  // Loads the kernel, and holds nothing yet. REQUIRES: 1 <= count < SMs of the GPU, which outlives it. Throws Error.
  HeldProcessors(Gpu& gpu, int count);
  ~HeldProcessors() { release(); }  // waits
  HeldProcessors(const HeldProcessors&) = delete;
  HeldProcessors& operator=(const HeldProcessors&) = delete;

  // Returns once the kernel runs. Throws Error.
  void hold();
  // Throws Error when some were given up meanwhile, or two blocks had one SM: what ran beside it was not confined.
  void end();

 private:
  void release() noexcept;

  const Gpu& gpu_;
  const int count_;
  const CurrentContext current_;
  const Stream stream_;
  HostMemory words_;  // to release them, then a place for each
  Launch launch_;
  bool is_held_ = false;
};

}  // namespace spscope::cuda
