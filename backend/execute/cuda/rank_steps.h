// RankSteps: the compute ops of one rank on a GPU, in program order and in an arena of their own, to be timed. Nothing
// is communicated: what a message would bring is filled in from the layer's input before the op that needs it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/cuda/device_slots.h"
#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/host_mirror.h"
#include "backend/execute/cuda/memory.h"
#include "backend/execute/cuda/op_work.h"
#include "backend/execute/cuda/stream.h"

namespace spscope::cuda {

// A compute op of the rank, and the slots that must be filled for it.
struct Step {
  OpId op = kNone;
  std::vector<SlotId> fills;
  OpWork work;
  std::unique_ptr<Event> begin, end;
};

class RankSteps {
 public:
  // All arguments but the activations outlive it. Throws Error.
  RankSteps(const Plan& plan, const Request& request, const Activations& activations, const MemoryLayout& layout,
            DeviceSlots& slots, Gpu& gpu, int rank);

  const std::vector<Step>& steps() const { return steps_; }
  CUstream stream() const { return stream_.get(); }

  // Enqueues all steps, each between its two events. Throws Error.
  void enqueue() const;
  // The same without fills and events, after enqueue(): what slots hold is there already. Throws Error.
  void enqueue_work() const;
  // Nanoseconds of each step, once it has ended; 0 where there is nothing to compute. Throws Error.
  std::vector<std::int64_t> wait() const;

 private:
  void list(const Plan& plan, const MemoryLayout& layout, int rank);

  const DeviceSlots& slots_;
  const Gpu& gpu_;
  const CurrentContext current_;
  const Stream stream_;
  std::vector<Step> steps_;
  std::unique_ptr<DeviceMemory> arena_, table_;
  std::unique_ptr<HostMirror> inputs_;
};

}  // namespace spscope::cuda
