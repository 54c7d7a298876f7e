// GpuClock: from the global timer of a GPU to the raw clock of its host.
//
// The device writes its timer when a channel of a kernel starts or stops, and the proxy thread of NCCL tells us soon
// afterwards: each such pair is a host time at or after the moment at which the timer showed its value. The delay has a
// floor, one turn of the proxy's loop, and jitter that only adds. So the line below all pairs (their lower envelope) is
// the timer's offset, moved late by that floor, which nothing here can see. The line also has a slope: the timers of
// GPUs and hosts differ by parts per million, which are tens of microseconds in a second.
//
// The other side is bounded by calls: a kernel does not start before the call that asked for it. The distance from the
// line to the tightest such gate bounds the error. It is wide where the host runs ahead of the device, though the line
// is as good; without calls (before v5) the error is not known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace spscope::nccl {

class GpuClock {
 public:
  // At host_ns the timer had shown timer_ns.
  void seen(std::uint64_t timer_ns, std::int64_t host_ns);
  // At host_ns it had not yet shown timer_ns.
  void not_before(std::uint64_t timer_ns, std::int64_t host_ns);

  // Whether there was a pair; without one, times of the timer are differences only.
  bool known() const { return newest_ >= 0; }
  // REQUIRES: known().
  std::int64_t host_ns(std::uint64_t timer_ns);
  // Most by which host_ns() is too late.
  std::optional<std::int64_t> error_ns();

 private:
  // Of half a second of the timer: the pair of the smallest delay, and the tightest gate, as offsets host - timer.
  struct Part {
    std::int64_t number = -1;
    std::int64_t timer_ns = 0, offset_ns = 0;
    bool has_pair = false, has_gate = false;
    std::int64_t gate_timer_ns = 0, gate_offset_ns = 0;
  };
  static constexpr std::int64_t kPartNs = 500'000'000;
  static constexpr std::size_t kParts = 64;

  Part* part_of(std::int64_t timer_ns);
  bool in_window(const Part& part) const { return part.number > newest_ - static_cast<std::int64_t>(kParts); }
  void fit();
  double offset_at(std::int64_t timer_ns) const;

  std::array<Part, kParts> parts_ = {};
  std::int64_t newest_ = -1;  // number of the newest part with a pair
  bool fitted_ = false;
  std::int64_t zero_timer_ns_ = 0, zero_offset_ns_ = 0;  // a point of the line
  double slope_ = 0;
};

}  // namespace spscope::nccl
