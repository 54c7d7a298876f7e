// How much the clocks of two computers may differ in speed.
#pragma once

namespace spscope {

// NTP corrects at most 500 ppm. A steeper line is a clock that was set, or samples that are not of one clock.
inline constexpr double kMaxClockDrift = 500e-6;

}  // namespace spscope
