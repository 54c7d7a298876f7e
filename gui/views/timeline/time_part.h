// What a moment of a rank goes to, as the parts of a makespan (backend/analysis/rank_times.h), and a pixel made of
// them.
#pragma once

#include <cstdint>

namespace spscope::gui {

// Compute, late peer, wire. What is none of them is kOther.
enum class TimePart : std::uint8_t { kCompute = 0, kLatePeer = 1, kWire = 2, kOther = 3 };
inline constexpr int kNumTimeParts = 4;

// A row as pixels: of each column, the part with most time in it and the share of the column that is busy.
struct PixelCell {
  TimePart part = TimePart::kOther;
  float busy = 0;  // 0 to 1; 0: nothing
};

}  // namespace spscope::gui
