// Operations: the collectives, sends and receives that are under way, from NCCL's start to their last child.
//
// NCCL stops an operation when it is enqueued. What it then does on the device and on the network are its children,
// told by NCCL's proxy threads, mostly after that stop and in any order: a channel of the kernel for each of its
// channels, and proxy ops. So an operation has ended when it was stopped, as many channels as it said have ended, and
// nothing is open. It then stays for a moment, since a proxy op may start after the last channel has ended.
//
// Some never get there: one that sends to its own rank has no channels, and a stop may be lost. What runs on a
// communicator runs in order, so an operation is given up a second after a later one of its communicator has ended, or
// after its communicator is gone; it is then handed over with what is known.
//
// Memory is fixed: places of which each has a lock of its own, held for a few instructions. What finds no place is for
// the caller to count.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "collectors/nccl/handle.h"
#include "collectors/nccl/short_text.h"

namespace spscope::nccl {

struct Operation {
  std::uint32_t communicator = 0;  // its row
  std::uint64_t order = 0;         // of the starts of all operations
  ShortText<24> function = {}, algorithm = {}, protocol = {};
  bool point_to_point = false;
  bool enqueued_only = false;  // nothing of it is seen but its enqueuing (copy engines)
  int peer = -1, root = -1;    // ranks of the communicator; -1: none
  std::int64_t sequence = -1, bytes = 0;
  int channels_expected = 0;               // 0: not known
  std::int64_t called_ns = 0;              // its call on the host; 0: not known
  std::int64_t start_ns = 0, stop_ns = 0;  // of its enqueuing; stop 0: not seen
  // Children, on the clock of the host: when we were told.
  std::int64_t first_start_ns = 0, last_end_ns = 0;  // of channels; 0: none
  std::int64_t last_proxy_end_ns = 0;
  // The same of channels on the timer of the device; 0: not known.
  std::uint64_t first_start_timer = 0, last_end_timer = 0;
  // The pair of timer and host with the smallest delay (GpuClock).
  std::uint64_t pair_timer = 0;
  std::int64_t pair_host_ns = 0;
  bool given_up = false;  // not all its children ended
};

struct OperationCounts {
  std::int64_t late = 0;      // events of operations that were handed over already
  std::int64_t repeated = 0;  // starts and stops that had been told before
  std::int64_t foreign = 0;   // children of operations of other processes (PXN)
  std::int64_t unusable = 0;  // children without a place: a channel or proxy op beyond the 64th
};

class Operations {
 public:
  static constexpr std::uint32_t kMax = 8192;
  static constexpr std::int64_t kLingerNs = 10'000'000, kGiveUpNs = 1'000'000'000;

  Operations();

  // -- NCCL's threads. Null: no place, or no such operation.
  void* start(const Operation& operation) noexcept;
  void* start_channel(const void* parent, int channel, std::uint64_t timer, std::int64_t now_ns) noexcept;
  void* start_proxy(const void* parent, std::int64_t now_ns) noexcept;
  void channel_time(const Handle& channel, std::uint64_t timer, std::int64_t now_ns) noexcept;
  void stop(const Handle& handle, std::int64_t now_ns) noexcept;
  void count_foreign() noexcept { foreign_.fetch_add(1, std::memory_order_relaxed); }

  // -- the collector, one thread
  // Those that have ended, or are given up. `removed_ns` is by communicator when it went; 0: it lives.
  std::vector<Operation> take_ended(std::int64_t now_ns, std::span<const std::int64_t> removed_ns);
  // Whether any is left: under way, or not taken yet.
  bool any() const noexcept;
  // Whether any is left that may still end.
  bool any_under_way() noexcept;
  // Those that are left.
  std::vector<Operation> take_all();
  bool uses(std::uint32_t communicator) noexcept;
  OperationCounts counts() const noexcept;
  static std::int64_t memory_bytes() { return kMax * static_cast<std::int64_t>(sizeof(Place) + 4); }

 private:
  struct Place {
    std::mutex mutex;
    bool used = false;
    std::uint64_t use = 0;
    Operation operation;
    std::uint64_t open_channels = 0, ended_channels = 0, open_proxies = 0;
    int num_proxies = 0;
    std::int64_t last_change_ns = 0;
    std::int64_t passed_ns = 0;  // when a later operation of the communicator was seen to have ended
    bool has_ended() const noexcept;
  };
  struct Found;
  Found find(const Handle& handle) noexcept;
  void release(std::uint32_t index) noexcept;
  void stop_child(Place& place, std::uint64_t& open, int child, std::int64_t now_ns, std::int64_t& last_end) noexcept;

  std::unique_ptr<Place[]> places_;
  std::array<std::atomic<bool>, kMax> used_ = {};  // what to look at
  std::mutex free_mutex_;
  std::vector<std::uint16_t> free_;  // taken from the end, so that few places are touched when few are needed
  std::atomic<std::uint64_t> next_order_{1};
  std::atomic<std::int64_t> late_{0}, repeated_{0}, foreign_{0}, unusable_{0};
  std::vector<std::uint64_t> ended_order_;  // by communicator: of the latest operation that ended; the collector's
};

}  // namespace spscope::nccl
