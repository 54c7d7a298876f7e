// The raw clock of a host: whole nanoseconds of CLOCK_MONOTONIC_RAW, which NTP neither steps nor slews; and dates.
#pragma once

#include <cstdint>
#include <string>

namespace spscope {

std::int64_t now_ns() noexcept;
// CPU time the calling thread has used, in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
std::int64_t thread_cpu_ns() noexcept;
// "2026-01-31T12:00:00Z"
std::string utc_now();

}  // namespace spscope
