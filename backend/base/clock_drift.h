// The largest plausible difference in rate between the clocks of two hosts.
#pragma once

namespace spscope {

// NTP corrects at most 500 ppm. A larger slope means that a clock was stepped, or that samples are of different clocks.
inline constexpr double kMaxClockDrift = 500e-6;

}  // namespace spscope
