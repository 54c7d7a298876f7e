// ClockWatch: the clock of the first GPU while a check runs in another process, and what kept it low.
#pragma once

#include <memory>

#include "bench/gpu/check.h"
#include "collectors/collector.h"
#include "tests/support/kept_trace.h"

namespace spscope::gpu_check {

class ClockWatch {
 public:
  ClockWatch();  // watches nothing where NVML cannot
  // Ends it. {"SM clock": "1410 to 1980 MHz", "low clocks": "power cap in 45 % of 320 samples"}, each where it was
  // seen.
  std::map<std::string, std::string> end();

 private:
  KeptTrace trace_{std::size_t{1} << 14};  // nobody takes records out meanwhile
  std::unique_ptr<Collector> collector_;
};

}  // namespace spscope::gpu_check
