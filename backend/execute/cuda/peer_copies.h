// What the copy engines of GPUs move for one message: runs of cells, joined into as few copies as they allow.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <vector>

#include "backend/execute/cuda/device_slots.h"
#include "backend/execute/program/cells.h"

namespace spscope::cuda {

// `height` rows of `width` bytes; pitches are the bytes from row to row.
struct PeerCopy {
  CUdeviceptr from = 0, to = 0;
  std::int64_t width = 0, height = 1, from_pitch = 0, to_pitch = 0;
  std::int64_t num_bytes() const { return width * height; }
};

// Copies the cells of `from` to those of `to`, which were enumerated for the same box along the inner axis, all planes
// and batch entries. REQUIRES: buffers with the same planes and dtype; arenas of both ranks are set.
std::vector<PeerCopy> peer_copies(const DeviceSlots& slots, std::span<const CellRun> from, std::span<const CellRun> to);

// Throws Error.
void enqueue_copy(const PeerCopy& copy, CUstream stream);

}  // namespace spscope::cuda
