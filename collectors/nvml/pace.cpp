#include "collectors/nvml/pace.h"

namespace spscope::nvml {

std::int64_t work_at_pace(const PaceClock& clock, std::int64_t period_ns, const std::function<void()>& work) {
  std::int64_t left_out = 0, due_ns = clock.now();
  while (clock.wait(due_ns)) {
    work();
    due_ns += period_ns;
    if (const std::int64_t late_ns = clock.now() - due_ns; late_ns > 0) {
      const std::int64_t passed = (late_ns + period_ns - 1) / period_ns;
      left_out += passed;
      due_ns += passed * period_ns;
    }
  }
  return left_out;
}

}  // namespace spscope::nvml
