// HostMirror: buffers of some slots in pinned host memory, from where inputs go to devices and to where outputs come.
#pragma once

#include <span>
#include <vector>

#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/cuda/device_slots.h"
#include "backend/execute/cuda/memory.h"

namespace spscope::cuda {

class HostMirror final : public spscope::HostMemory {
 public:
  // Throws Error.
  HostMirror(const CudaContext& context, const MemoryLayout& layout, std::vector<SlotId> slots);

  std::span<const SlotId> slots() const { return slots_; }
  // Enqueues the copy of a slot, or of all, from here to its place on the device. Throw Error.
  void upload(SlotId slot, const DeviceSlots& device, CUstream stream) const;
  void upload(const DeviceSlots& device, CUstream stream) const;
  // The same in the other direction.
  void download(const DeviceSlots& device, CUstream stream);

 private:
  std::size_t num_bytes(SlotId slot) const { return static_cast<std::size_t>(layout().allocated_bytes(slot)); }

  const std::vector<SlotId> slots_;
  const cuda::HostMemory pinned_;
};

}  // namespace spscope::cuda
