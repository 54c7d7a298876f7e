// BufferStore: the memory of the ranks during a run. Every rank has buffers, a pool and accounts of its own.
//
// A slot's buffers are made when its first writer starts and given up when the last of its users has ended; the number
// of users is known before the run. Given-up memory goes to the pool of its rank and serves the next slot or the next
// repeat, so that a repeat after the warm-up asks the operating system for nothing. The accounts count elements of
// values and accumulators only, as the plan does; what a pool holds back and what staging takes are apart.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/execute/memory_layout.h"

namespace spscope {

class BufferStore {
 public:
  // With `poison`, fresh and given-up memory is filled with NaN, so that a read too early or too late shows in numbers.
  explicit BufferStore(const MemoryLayout& layout, bool poison = false);

  // Closes every slot, and sets how many users each will have and all accounts to zero. Not thread-safe.
  void start(std::span<const std::int32_t> users);
  // Makes the buffers of a slot unless they are there; true when this call made them. Thread-safe.
  bool open(SlotId slot);
  bool is_open(SlotId slot) const {
    return slots_[static_cast<std::size_t>(slot)].open.load(std::memory_order_acquire);
  }
  // One user has ended; the last one gives the buffers up. Thread-safe.
  void release(SlotId slot);

  // REQUIRES: the buffer's slot is open, and its opening happened before.
  std::byte* address(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return buffers_[static_cast<std::size_t>(buffer)].data +
           layout_.buffer(buffer).offset_bytes(plane, batch_entry, cell);
  }
  float* floats(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return reinterpret_cast<float*>(address(buffer, plane, batch_entry, cell));
  }
  const MemoryLayout& layout() const { return layout_; }

  // Highest number of live bytes of each rank since start().
  std::vector<std::int64_t> peak_bytes() const;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Memory = std::unique_ptr<Line[]>;
  struct LiveBuffer {
    std::byte* data = nullptr;
    Memory memory;
    std::int64_t num_lines = 0;
  };
  struct SlotState {
    std::atomic<bool> open{false};
    std::atomic<std::int32_t> users{0};
  };
  struct RankMemory {
    std::mutex mutex;
    std::multimap<std::int64_t, Memory> pool;  // by number of lines
    std::int64_t live_bytes = 0, peak_bytes = 0;
  };
  void take(RankMemory& rank, LiveBuffer& buffer, std::int64_t num_lines);
  void give_up(RankMemory& rank, const BufferSlot& slot);

  const MemoryLayout& layout_;
  bool poison_;
  std::vector<LiveBuffer> buffers_;
  std::vector<SlotState> slots_;
  std::vector<RankMemory> ranks_;
};

}  // namespace spscope
