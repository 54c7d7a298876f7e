// RankAlone: the compute of a plan of one rank on the first GPU, uploaded once and launched again and again.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backend/execute/cuda/rank_steps.h"

namespace spscope::gpu_check {

class RankAlone {
 public:
  // All arguments outlive it. Throws Error.
  RankAlone(const Plan& plan, const Request& request, const Activations& activations);

  // The names of the kernels that it launches.
  std::set<std::string> kernels() const;
  // How many each op launches.
  std::map<OpId, int> launches() const;
  // Launches until the device has been busy for kWarmUpSeconds, so that its clock is that of work. Throws Error.
  void warm_up();
  // Milliseconds of all steps: the median of so many passes, enqueued back to back, each between two events. Throws
  // Error.
  double run_ms(int passes);

 private:
  void wait() const;

  const MemoryLayout layout_;
  cuda::DeviceSlots slots_;
  cuda::Gpu& gpu_;
  const cuda::RankSteps steps_;
};

// Of both sides of a comparison (attention_peer.py).
inline constexpr double kWarmUpSeconds = 0.2;

}  // namespace spscope::gpu_check
