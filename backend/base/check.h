// Assertions that stay on in every build: a failed one is a defect of the program, never of its input.
#pragma once

namespace spscope {

// Prints the condition and its place on stderr, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace spscope

#define SPSCOPE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::spscope::check_failed(#condition, __FILE__, __LINE__))
