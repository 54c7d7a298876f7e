// The run clock: whole nanoseconds of CLOCK_MONOTONIC_RAW, which no clock adjustment bends.
#pragma once

#include <cstdint>

namespace spscope {

std::int64_t now_ns() noexcept;
// CPU time the calling thread has used, in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
std::int64_t thread_cpu_ns() noexcept;

}  // namespace spscope
