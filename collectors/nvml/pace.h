// Work at equal distances in time.
#pragma once

#include <cstdint>
#include <functional>

namespace spscope::nvml {

struct PaceClock {
  std::function<std::int64_t()> now;
  std::function<bool(std::int64_t until_ns)> wait;  // false: it is over
};

// Works at once and then each period, counted from the first time, so that lateness does not add up. Times that passed
// while it worked are left out. Returns how many, once the clock says that it is over.
std::int64_t work_at_pace(const PaceClock& clock, std::int64_t period_ns, const std::function<void()>& work);

}  // namespace spscope::nvml
