// DeviceSlots: where the buffers of a plan lie in device memory. Each rank has an arena, in which every slot has its
// place before the run (program/slot_places.h).
#pragma once

#include <cuda.h>

#include <vector>

#include "backend/execute/cuda/epilogue.h"
#include "backend/execute/program/slot_places.h"

namespace spscope::cuda {

class DeviceSlots {
 public:
  // Places the slots that ops use, but accumulators of epilogues.
  DeviceSlots(const Plan& plan, const MemoryLayout& layout);

  const MemoryLayout& layout() const { return layout_; }
  const SlotPlaces& places() const { return places_; }
  const std::vector<Epilogue>& epilogues() const { return epilogues_; }
  std::int64_t arena_bytes(int rank) const { return places_.bytes_of_rank[static_cast<std::size_t>(rank)]; }
  void set_arena(int rank, CUdeviceptr arena) { arenas_[static_cast<std::size_t>(rank)] = arena; }

  // REQUIRES: the arena of the slot's rank is set.
  CUdeviceptr address(SlotId slot) const {
    return arenas_[static_cast<std::size_t>(layout_.slot(slot).rank)] +
           static_cast<CUdeviceptr>(places_.offset[static_cast<std::size_t>(slot)]);
  }
  CUdeviceptr address(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    const BufferLayout& layout = layout_.buffer(buffer);
    return arenas_[static_cast<std::size_t>(layout.rank)] +
           static_cast<CUdeviceptr>(offset_[static_cast<std::size_t>(buffer)] +
                                    layout.offset_bytes(plane, batch_entry, cell));
  }

 private:
  const MemoryLayout& layout_;
  std::vector<Epilogue> epilogues_;
  SlotPlaces places_;
  std::vector<std::int64_t> offset_;  // by buffer: in its rank's arena
  std::vector<CUdeviceptr> arenas_;   // by rank
};

}  // namespace spscope::cuda
