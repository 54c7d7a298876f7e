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

#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/program/local_ranks.h"

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

class BufferStore final : public HostMemory {
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
  bool is_here(SlotId slot) const { return local_.has(layout().slot(slot).rank) || shared_memory(slot) != nullptr; }
  bool is_open(SlotId slot) const {
    return shared_.states[static_cast<std::size_t>(slot)].phase.load(std::memory_order_acquire) == SlotState::kOpen;
  }
  // From now on open() does not wait for another opener once `stopping` is true, which must outlive this. Not
  // thread-safe.
  void watch_stop(const std::atomic<bool>& stopping) { stopping_ = &stopping; }
  // Makes the buffers of a slot unless they are there; true when this call made them. Nothing for a slot that is not
  // here. Thread-safe. Throws std::bad_alloc, and the slot is closed; StopLane, when another thread or process is
  // making the buffers and the run stops.
  bool open(SlotId slot);
  // One user has ended; the last one gives the buffers up. Nothing for a slot that is not here. Thread-safe.
  void release(SlotId slot);

  // Highest number of live bytes of each rank since start(); of ranks that are not local, when accounts are shared.
  std::vector<std::int64_t> peak_bytes() const;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  using Memory = std::unique_ptr<Line[]>;
  struct LiveBuffer {
    Memory memory;  // nullptr while closed, and where the slot is shared
    std::int64_t num_lines = 0;
  };
  struct RankMemory {
    std::mutex mutex;
    std::multimap<std::int64_t, Memory> pool;  // by number of lines
  };
  std::int64_t num_lines(BufferId buffer) const {
    return layout().buffer(buffer).allocated_bytes / static_cast<std::int64_t>(sizeof(Line));
  }
  std::byte* shared_memory(SlotId slot) const {
    return shared_.memory.empty() ? nullptr : shared_.memory[static_cast<std::size_t>(slot)];
  }
  bool begin_opening(SlotState& state) const;
  void make_buffers(SlotId slot);
  void take(RankMemory& rank, BufferId buffer);
  void give_up(SlotId slot);
  void poison(BufferId buffer) const;

  bool poison_;
  LocalRanks local_;
  SharedSlots shared_;
  const std::atomic<bool>* stopping_ = nullptr;
  std::vector<LiveBuffer> buffers_;
  std::vector<RankMemory> ranks_;
  // Where `shared_` has none.
  std::vector<SlotState> own_states_;
  std::vector<MemoryAccount> own_accounts_;
};

}  // namespace spscope
