#include "backend/record/reader_sleep.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace spscope {

// The futexes are not private: the state may lie in memory of two processes.
void ReaderSleep::wake() noexcept {
  state_.exchange(State::kAwake, std::memory_order_seq_cst);
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state_), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void ReaderSleep::wait(State state, std::chrono::nanoseconds most) noexcept {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const std::int64_t ns = std::max<std::int64_t>(0, most.count());
  const timespec timeout = {.tv_sec = ns / kSecondNs, .tv_nsec = ns % kSecondNs};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state_), FUTEX_WAIT, static_cast<std::uint32_t>(state),
            &timeout, nullptr, 0);
}

}  // namespace spscope
