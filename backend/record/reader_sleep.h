// ReaderSleep: how a thread that reads rings sleeps while nothing comes, and how whoever writes wakes it, in the memory
// of one process or in memory that two share. All zeros: it is awake.
//
// At first it naps for some milliseconds, and nobody who writes wakes it: what comes often is taken together. When
// nothing has come for a while it sleeps longer, and the first that comes wakes it, so that no ring fills meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace spscope {

class ReaderSleep {
 public:
  enum class State : std::uint32_t { kAwake = 0, kNaps = 1, kSleeps = 2 };

  // -- any thread
  // After something was written. Calls the kernel only where the reader sleeps. What was not written by a store of the
  // order seq_cst may be found only when the sleep is over.
  void wake_from_sleep() noexcept {
    if (state_.load(std::memory_order_seq_cst) == State::kSleeps) wake();
  }
  // From a nap, too.
  void wake() noexcept;

  // -- the reader
  // Before it looks, by loads of the order seq_cst: whoever writes later ends wait().
  void begin(State state) noexcept { state_.store(state, std::memory_order_seq_cst); }
  // So long at most; not at all when it was woken since begin() with this state.
  void wait(State state, std::chrono::nanoseconds most) noexcept;

 private:
  std::atomic<State> state_{State::kAwake};
};
static_assert(std::atomic<ReaderSleep::State>::is_always_lock_free && sizeof(ReaderSleep) == sizeof(std::uint32_t));

// How long one reader naps: twice as long each time that it found nothing. Beyond the shortest nap it sleeps.
class ReaderNaps {
 public:
  ReaderNaps(ReaderSleep& sleep, std::chrono::milliseconds shortest, std::chrono::milliseconds longest)
      : sleep_(sleep), shortest_(shortest), longest_(longest) {}

  // Before each look.
  void begin() noexcept {
    found_ = false;
    state_ = nap_ > shortest_ ? ReaderSleep::State::kSleeps : ReaderSleep::State::kNaps;
    sleep_.begin(state_);
  }
  // The look found something.
  void found() noexcept {
    found_ = true;
    nap_ = shortest_;
  }
  // So long at most.
  void wait(std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) noexcept {
    sleep_.wait(state_, std::min<std::chrono::nanoseconds>(nap_, most));
    if (!found_) nap_ = std::min(2 * nap_, longest_);
  }

 private:
  ReaderSleep& sleep_;
  const std::chrono::milliseconds shortest_, longest_;
  std::chrono::milliseconds nap_ = shortest_;
  ReaderSleep::State state_ = ReaderSleep::State::kAwake;
  bool found_ = false;
};

}  // namespace spscope
