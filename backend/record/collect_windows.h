// CollectWindows: when events of a process are wanted, in memory that it shares with `spscope attach`. Zeros mean
// always; otherwise those that begin in a window are. attach opens and closes the windows of --delay, --duration and
// --signal in the memory of each process; those from cudaProfilerStart() to cudaProfilerStop() are the process's own.
// attach takes the windows that have ended, so that each of them is stored. All times are of the raw clock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace spscope {

enum class CollectWhen : std::uint32_t { kAlways = 0, kInWindows = 1, kInProfilerRanges = 2 };

// From begin to end, which is not part of it.
struct CollectWindow {
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();
  std::int64_t begin_ns = 0, end_ns = kOpen;
  friend bool operator==(const CollectWindow&, const CollectWindow&) = default;
};

// In order of time. Windows that touch become one, and of more than `most` those that are nearest to each other become
// one as well, so that what was inside of a window stays inside.
std::vector<CollectWindow> joined(std::vector<CollectWindow> windows, std::size_t most);

class CollectWindows {
 public:
  static constexpr std::uint64_t kMost = 4096;  // that are remembered, the newest
  // Collectors are at work a little earlier, so that they miss nothing of the begin, and longer, so that what began
  // inside may end.
  static constexpr std::int64_t kLeadNs = 100'000'000, kTailNs = 1'000'000'000;

  // -- the side that opens and closes, one thread at a time
  void set(CollectWhen when) noexcept { when_.store(when, std::memory_order_release); }
  // The next window; nothing while one is open. Where kMost windows have not been taken yet, it is refused and counted.
  // REQUIRES: `begin_ns` is not before the end of the one before.
  void open(std::int64_t begin_ns) noexcept;
  // The open one; nothing where none is. At its begin when that comes later.
  void close(std::int64_t end_ns) noexcept;

  // -- any thread
  CollectWhen when() const noexcept { return when_.load(std::memory_order_acquire); }
  // Also true of a time before the oldest window that is remembered, where older ones were taken.
  bool contains(std::int64_t time_ns) const noexcept;
  std::uint64_t number() const noexcept { return number_.load(std::memory_order_seq_cst); }
  std::optional<CollectWindow> newest() const noexcept;
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  // Whether collectors are to be at work.
  bool need_events(std::int64_t now_ns) const noexcept;
  // When that changes next, as far as it is known; kOpen: it is not.
  std::int64_t next_change_ns(std::int64_t now_ns) const noexcept;

  // -- attach, one thread at a time
  // Adds the windows that have ended since the last call and makes room for others. `taken`: how many it has taken so
  // far, 0 at first. Windows that make no sense are left out: the process may have written anything.
  void take_ended(std::uint64_t& taken, std::vector<CollectWindow>& to);

 private:
  struct Slot {
    std::atomic<std::int64_t> begin_ns{0}, end_ns{0};  // end 0: open
  };
  CollectWindow at(std::uint64_t number) const noexcept;

  std::atomic<CollectWhen> when_{CollectWhen::kAlways};
  std::atomic<std::uint64_t> number_{0}, taken_{0}, refused_{0};
  std::array<Slot, kMost> slots_;
};
static_assert(std::atomic<CollectWhen>::is_always_lock_free);

}  // namespace spscope
