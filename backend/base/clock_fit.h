// Maps the raw clock of one process to the run clock, from ping-pong exchanges with the process that keeps the run
// clock.
//
// In an exchange this process sends at `sent_ns` (its clock), the other stamps `remote_ns` (the run clock) and answers,
// and the answer is here at `received_ns` (this clock again). No message travels back in time, so
//   run(sent) <= remote   and   run(received) >= remote:
// every exchange is a gate that the line run(raw) passes. Delays have a floor, equal in both directions, plus jitter
// that only adds; so each side's envelope is the line moved by the floor, and the middle of the two is the line.
//
// The bound assumes neither a floor nor a distribution of the jitter: it is the width of the tightest gates (half a
// round trip at best) and holds for any asymmetry of the network. It grows when the clock's rate varies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

struct ClockSample {
  std::int64_t sent_ns = 0;      // raw clock of this process
  std::int64_t remote_ns = 0;    // run clock
  std::int64_t received_ns = 0;  // raw clock of this process

  bool operator==(const ClockSample&) const = default;
};

// run_ns = (raw_ns - raw_zero_ns) * (1 + drift) + offset_ns
struct ClockFit {
  std::int64_t raw_zero_ns = 0;
  std::int64_t offset_ns = 0;
  double drift = 0;  // 0 where the exchanges are too few or too close together to estimate it
  // Between the first and the last exchange the error of run_time_ns is at most this, if the clock's rate is constant.
  // INT64_MAX when there was no exchange.
  std::int64_t bound_ns = 0;
  std::int64_t exchanges = 0;  // used
  std::int64_t rejected = 0;   // invalid: received before they were sent
};

// Any order and any values; O(n log n).
ClockFit fit_clock(std::span<const ClockSample> samples);

// Saturates instead of overflowing.
std::int64_t run_time_ns(const ClockFit& fit, std::int64_t raw_ns) noexcept;

// The few samples that determine the fit, in the order they were sent: fit_clock of them gives the same line and bound.
std::vector<ClockSample> clock_envelope(std::span<const ClockSample> samples);

}  // namespace spscope
