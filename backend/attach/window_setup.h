// WindowSetup: what a user asked for of when events are collected.
#pragma once

#include <cstdint>

namespace spscope {

struct WindowSetup {
  bool is_timed = false;  // by the next two
  std::int64_t delay_ns = 0;
  std::int64_t duration_ns = 0;  // 0: to the end of the program
  int signal = 0;                // that opens and closes a window when attach gets it; 0: none
  bool profiler_ranges = false;
  bool is_used() const { return is_timed || signal != 0 || profiler_ranges; }
};

}  // namespace spscope
