// Times of a clock whose ticks are longer than a nanosecond: 10 ns where a CPU counts a crystal of 100 MHz, 40 ns where
// it counts one of 25 MHz. The last digits of such times tell nothing, so they are told in ticks. The times of ticks
// are rounded to nanoseconds by whoever read the clock, and perhaps again by a fit between clocks; how far a tick is
// from its nanosecond is carried along from time to time.
#pragma once

#include <cstdint>
#include <span>

namespace spscope {

// A difference of two times in nanoseconds.
struct Ticks {
  std::int64_t ticks = 0;
  std::int64_t rest_ns = 0;  // mostly 0
};

// Walks along times. A time is that of its tick, rounded down to nanoseconds, plus the rest. With a rest of one
// nanosecond ticks are taken to lie an eighth of one later or earlier from there on; with a larger one the time is
// that of a tick and a half nanosecond.
class ClockTicks {
 public:
  static constexpr int kFractionBits = 28;
  static constexpr std::uint64_t kNanosecond = std::uint64_t{1} << kFractionBits;

  // `tick` is the length of a tick in nanoseconds, times 2^kFractionBits.
  explicit ClockTicks(std::uint64_t tick) : tick_(tick) {}
  // Goes on by a difference, which may be negative. REQUIRES: tick > 0.
  Ticks step(std::int64_t difference_ns);
  std::int64_t step(const Ticks& ticks);
  // Where in its nanosecond the tick lies that so many ticks lead to, 0 to 7: a rest is likely near the ends.
  int eighth(std::int64_t ticks) const { return static_cast<int>(time_of(ticks) >> (kFractionBits - 3) & 7); }

 private:
  // Since the last time, with the fraction below. Wraps.
  std::int64_t time_of(std::int64_t ticks) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(fraction_) + static_cast<std::uint64_t>(ticks) * tick_);
  }

  std::uint64_t tick_;
  std::int64_t fraction_ = kNanosecond / 2;  // the time of the last tick minus the time in nanoseconds
};

// The tick in which all of these differences between successive times are told with hardly a rest, or kNanosecond.
std::uint64_t find_tick(std::span<const std::int64_t> differences_ns);

}  // namespace spscope
