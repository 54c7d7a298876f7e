// BufferStore: the memory of the ranks during a run. Every rank has buffers, a pool and accounts of its own.
//
// A slot's buffers are made when its first writer starts and given up when the last of its users has ended; the number
// of users is known before the run. Given-up memory goes to the pool of its rank and serves the next slot or the next
// repeat, so that a repeat after the warm-up asks the operating system for nothing. The accounts count elements of
// values and accumulators only, as the plan does; what a pool holds back and what staging takes are apart.
//
// A process that holds only some of the ranks has memory for these. Slots that processes of a node touch for one
// another lie in memory that they share, each at a fixed place; their states and the accounts do too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backend/execute/local_ranks.h"
#include "backend/execute/memory_layout.h"

namespace spscope {

struct SlotState {
  enum Phase : std::int32_t { kClosed = 0, kOpening = 1, kOpen = 2 };
  std::atomic<std::int32_t> phase{kClosed}, users{0};
};
// Bytes of one rank's values and accumulators.
struct alignas(64) MemoryAccount {
  std::atomic<std::int64_t> live_bytes{0}, peak_bytes{0};
};

// What processes share; all zero before the first run.
struct SharedSlots {
  std::vector<std::byte*> memory;     // by slot: its buffers, one after the other; nullptr: not shared
  std::span<SlotState> states;        // by slot
  std::span<MemoryAccount> accounts;  // by rank
};

class BufferStore {
 public:
  // All ranks. With `poison`, fresh and given-up memory is filled with NaN, so that a read too early or too late shows
  // in numbers.
  explicit BufferStore(const MemoryLayout& layout, bool poison = false);
  // Only the slots of these ranks, and all that are shared.
  BufferStore(const MemoryLayout& layout, bool poison, LocalRanks local, SharedSlots shared);
  BufferStore(const BufferStore&) = delete;

  // Closes every slot of the local ranks, and sets how many users each will have and their accounts to zero. Not
  // thread-safe.
  void start(std::span<const std::int32_t> users);
  // Whether the slot's memory can be reached from this process.
  bool is_here(SlotId slot) const { return local_.has(layout_.slot(slot).rank) || shared_memory(slot) != nullptr; }
  bool is_open(SlotId slot) const {
    return shared_.states[static_cast<std::size_t>(slot)].phase.load(std::memory_order_acquire) == SlotState::kOpen;
  }
  // Makes the buffers of a slot unless they are there; true when this call made them. Nothing for a slot that is not
  // here. Thread-safe.
  bool open(SlotId slot);
  // One user has ended; the last one gives the buffers up. Nothing for a slot that is not here. Thread-safe.
  void release(SlotId slot);

  // REQUIRES: the buffer's slot is here and open, and its opening happened before.
  std::byte* address(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return buffers_[static_cast<std::size_t>(buffer)].data +
           layout_.buffer(buffer).offset_bytes(plane, batch_entry, cell);
  }
  float* floats(BufferId buffer, std::size_t plane, int batch_entry, std::int64_t cell) const {
    return reinterpret_cast<float*>(address(buffer, plane, batch_entry, cell));
  }
  const MemoryLayout& layout() const { return layout_; }

  // Bytes that the buffers of a slot take in shared memory.
  static std::int64_t shared_bytes(const MemoryLayout& layout, SlotId slot);

  // Highest number of live bytes of each rank since start(); of ranks that are not local, when accounts are shared.
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
  struct RankMemory {
    std::mutex mutex;
    std::multimap<std::int64_t, Memory> pool;  // by number of lines
  };
  static std::int64_t num_lines(const MemoryLayout& layout, BufferId buffer);
  std::byte* shared_memory(SlotId slot) const {
    return shared_.memory.empty() ? nullptr : shared_.memory[static_cast<std::size_t>(slot)];
  }
  void take(RankMemory& rank, LiveBuffer& buffer, std::int64_t num_lines);
  void give_up(SlotId slot);
  void poison(const LiveBuffer& buffer) const;

  const MemoryLayout& layout_;
  bool poison_;
  LocalRanks local_;
  SharedSlots shared_;
  std::vector<LiveBuffer> buffers_;
  std::vector<RankMemory> ranks_;
  // Where `shared_` has none.
  std::vector<SlotState> own_states_;
  std::vector<MemoryAccount> own_accounts_;
};

}  // namespace spscope
