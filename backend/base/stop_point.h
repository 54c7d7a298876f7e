// Where long computations of this thread end when somebody wants the program to stop: planning, verifying and
// scheduling for thousands of ranks take minutes, and pass a stop point every few milliseconds.
#pragma once

#include <atomic>

namespace spscope {

// While it lives, stop points of this thread ask `stop`; nullptr: nothing stops them. The innermost scope counts.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* const before_;
};

// Throws Error (kInterrupted) when the flag of the scope is set. Takes a nanosecond or two.
void stop_point();

}  // namespace spscope
