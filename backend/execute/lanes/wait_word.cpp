#include "backend/execute/lanes/wait_word.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "backend/base/clock.h"

namespace spscope {
namespace {

constexpr int kSpins = 12, kYields = 4;            // before sleeping
constexpr timespec kLongestSleep = {0, 20000000};  // how late a stop may be seen by one who missed its wake

// The futexes are not private: the number may lie in memory of several processes.
void call_futex(std::atomic<std::int32_t>& word, int operation, std::int32_t value, const timespec* timeout) {
  syscall(SYS_futex, reinterpret_cast<std::int32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void WaitWord::wait(std::int32_t seen, std::int64_t spin_ns) {
  const std::int64_t end_ns = spin_ns > 0 ? now_ns() + spin_ns : 0;
  for (int i = 0; i < kSpins + kYields || (spin_ns > 0 && now_ns() < end_ns); ++i) {
    if (value_.load(std::memory_order_relaxed) != seen) return;
    if (i >= kSpins) sched_yield();
  }
  // Whoever changes the number after this line sees a sleeper; whoever changed it before makes the futex refuse.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  call_futex(value_, FUTEX_WAIT, seen, &kLongestSleep);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void WaitWord::wake_sleepers() { call_futex(value_, FUTEX_WAKE, INT_MAX, nullptr); }

}  // namespace spscope
