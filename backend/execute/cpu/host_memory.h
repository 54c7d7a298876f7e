// HostMemory: where the buffers of a plan lie in memory that the processor addresses, for kernels and copies. Whoever
// gives the memory (BufferStore) derives from it.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/execute/program/memory_layout.h"

namespace spscope {

class HostMemory {
 public:
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // REQUIRES: the buffer has memory, and getting it happened before.
  std::byte* address(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return addresses_[static_cast<std::size_t>(buffer)] + layout_.buffer(buffer).offset_bytes(plane, batch_entry, cell);
  }
  float* floats(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return reinterpret_cast<float*>(address(buffer, plane, batch_entry, cell));
  }
  const MemoryLayout& layout() const { return layout_; }

 protected:
  explicit HostMemory(const MemoryLayout& layout) : layout_(layout), addresses_(layout.buffers().size()) {}
  ~HostMemory() = default;
  // Starts at a multiple of 64, with BufferLayout::allocated_bytes bytes; nullptr: none.
  std::byte*& address_of_buffer(BufferId buffer) { return addresses_[static_cast<std::size_t>(buffer)]; }

 private:
  const MemoryLayout& layout_;
  std::vector<std::byte*> addresses_;
};

}  // namespace spscope
