// WaitWord: a number that others wait on until it changes, in the memory of one process or in memory that several
// share.
//
// Waiting spins a moment and then sleeps in the kernel (a futex), so that many more ranks than cores cost nothing while
// they wait. std::atomic::wait would not do: it sleeps on a futex that only its own process can wake.
#pragma once

#include <atomic>
#include <cstdint>

namespace spscope {

class WaitWord {
 public:
  std::int32_t load() const { return value_.load(std::memory_order_acquire); }
  void store(std::int32_t value) {
    value_.store(value, std::memory_order_seq_cst);
    wake();
  }
  // Adds and returns what the number was.
  std::int32_t add(std::int32_t change) {
    const std::int32_t before = value_.fetch_add(change, std::memory_order_seq_cst);
    wake();
    return before;
  }
  // Sets it from `from` to `to`; false when it is something else.
  bool replace(std::int32_t from, std::int32_t to) {
    const bool replaced = value_.compare_exchange_strong(from, to, std::memory_order_seq_cst);
    if (replaced) wake();
    return replaced;
  }
  // Returns once the number is no longer `seen`, after a wake(), or after 20 ms: the caller looks again. Sleeps only
  // after `spin_ns`: the kernel takes 5 to 50 us to wake a thread.
  void wait(std::int32_t seen, std::int64_t spin_ns = 0);
  // Everybody who waits looks again.
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_sleepers();
  }

 private:
  void wake_sleepers();

  std::atomic<std::int32_t> value_{0}, sleepers_{0};
};
static_assert(std::atomic<std::int32_t>::is_always_lock_free);

}  // namespace spscope
