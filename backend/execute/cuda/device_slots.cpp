#include "backend/execute/cuda/device_slots.h"

namespace spscope::cuda {
namespace {

SlotPlaces place(const Plan& plan, const MemoryLayout& layout, const std::vector<Epilogue>& epilogues) {
  std::vector<bool> wanted = used_slots(plan, layout);
  std::vector<EarlyOpening> early;
  for (const Epilogue& epilogue : epilogues) {
    wanted[static_cast<std::size_t>(epilogue.accumulator)] = false;
    early.push_back({epilogue.result, epilogue.attend});
  }
  return place_slots(plan, layout, wanted, early);
}

}  // namespace

DeviceSlots::DeviceSlots(const Plan& plan, const MemoryLayout& layout)
    : layout_(layout),
      epilogues_(find_epilogues(plan, layout)),
      places_(place(plan, layout, epilogues_)),
      offset_(layout.buffers().size(), -1),
      arenas_(static_cast<std::size_t>(layout.ranks())) {
  for (SlotId id = 0; id < static_cast<SlotId>(layout.slots().size()); ++id) {
    const BufferSlot& slot = layout.slot(id);
    std::int64_t next = places_.offset[static_cast<std::size_t>(id)];
    for (BufferId b = slot.first_buffer; next >= 0 && b < slot.first_buffer + slot.num_buffers; ++b) {
      offset_[static_cast<std::size_t>(b)] = next;
      next += layout.buffer(b).allocated_bytes;
    }
  }
}

}  // namespace spscope::cuda
