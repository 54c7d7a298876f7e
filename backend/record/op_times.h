// When an op ran, in whole nanoseconds of one clock.
#pragma once

#include <cstdint>

namespace spscope {

// From the start of the layer, or on the raw clock of a host. For compute, post == begin.
struct OpTimes {
  std::int64_t post_ns = 0;   // the rank entered the op: everything it depends on at its rank had ended
  std::int64_t begin_ns = 0;  // compute began, or the last partner had posted and data could move
  std::int64_t end_ns = 0;
};

}  // namespace spscope
