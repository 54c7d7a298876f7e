#include "backend/execute/cuda/host_mirror.h"

#include "backend/execute/cuda/driver.h"

namespace spscope::cuda {
namespace {

// At least one: of nothing no memory can be had.
std::size_t bytes_of(const MemoryLayout& layout, std::span<const SlotId> slots) {
  std::size_t bytes = slots.empty() ? 1 : 0;
  for (const SlotId slot : slots) bytes += static_cast<std::size_t>(layout.allocated_bytes(slot));
  return bytes;
}

}  // namespace

HostMirror::HostMirror(const CudaContext& context, const MemoryLayout& layout, std::vector<SlotId> slots)
    : spscope::HostMemory(layout), slots_(std::move(slots)), pinned_(context, bytes_of(layout, slots_)) {
  std::byte* next = pinned_.bytes().data();
  for (const SlotId id : slots_) {
    const BufferSlot& slot = layout.slot(id);
    for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
      address_of_buffer(b) = next;
      next += layout.buffer(b).allocated_bytes;
    }
  }
}

void HostMirror::upload(SlotId slot, const DeviceSlots& device, CUstream stream) const {
  check(driver().cuMemcpyHtoDAsync(device.address(slot), address(layout().slot(slot).first_buffer, 0, 0, 0),
                                   num_bytes(slot), stream),
        "cuMemcpyHtoDAsync");
}

void HostMirror::upload(const DeviceSlots& device, CUstream stream) const {
  for (const SlotId slot : slots_) upload(slot, device, stream);
}

void HostMirror::download(const DeviceSlots& device, CUstream stream) {
  for (const SlotId slot : slots_)
    check(driver().cuMemcpyDtoHAsync(address(layout().slot(slot).first_buffer, 0, 0, 0), device.address(slot),
                                     num_bytes(slot), stream),
          "cuMemcpyDtoHAsync");
}

}  // namespace spscope::cuda
