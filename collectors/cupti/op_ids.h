// Which op of a plan a call of CUDA was made for. The thread pushes a number around its calls, CUPTI says of each call
// which number was pushed, and calls and their work share a correlation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/base/ids.h"

namespace spscope::cupti {

struct LaunchedOp {
  int rank = 0;
  RunId run = kFirstRun;
  OpId op = 0;
  static constexpr RunId kFirstRun{1};
  friend bool operator==(const LaunchedOp&, const LaunchedOp&) = default;
};

// The kind of numbers that is pushed: CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0.
inline constexpr std::uint32_t kOurIds = 3;

// One number of 16 bits of rank, 20 of the run and 28 of the op; 0, which stands for no op, where one of them does not
// fit.
constexpr std::uint64_t pushed_id(const LaunchedOp& launched) {
  const auto rank = static_cast<std::uint64_t>(launched.rank) + 1, run = static_cast<std::uint64_t>(launched.run),
             op = static_cast<std::uint64_t>(launched.op);
  return launched.rank < 0 || launched.op < 0 || rank >> 16 != 0 || run >> 20 != 0 || op >> 28 != 0
             ? 0
             : rank << 48 | run << 28 | op;
}
constexpr std::optional<LaunchedOp> launched_op(std::uint64_t pushed) {
  if (pushed >> 48 == 0) return std::nullopt;
  return LaunchedOp{static_cast<int>(pushed >> 48) - 1, RunId{static_cast<std::int64_t>(pushed >> 28 & 0xf'ffff)},
                    static_cast<OpId>(pushed & 0xfff'ffff)};
}

// What is known of calls, by correlation, which CUPTI counts up. It remembers the last quarter of a million, 4 MiB: a
// stream takes about a thousand launches before it makes the host wait.
class RecentCalls {
 public:
  struct Call {
    std::uint32_t correlation = 0;  // 0: none
    std::uint32_t thread = 0;       // that made it; 0: not known
    std::uint64_t pushed = 0;
  };
  Call& at(std::uint32_t correlation) {
    Call& call = calls_[correlation % kCalls];
    if (call.correlation != correlation) call = {.correlation = correlation};
    return call;
  }
  const Call* find(std::uint32_t correlation) const {
    const Call& call = calls_[correlation % kCalls];
    return correlation != 0 && call.correlation == correlation ? &call : nullptr;
  }
  static constexpr std::int64_t kBytes = (std::int64_t{1} << 18) * static_cast<std::int64_t>(sizeof(Call));

 private:
  static constexpr std::size_t kCalls = std::size_t{1} << 18;
  std::vector<Call> calls_ = std::vector<Call>(kCalls);
};

}  // namespace spscope::cupti
