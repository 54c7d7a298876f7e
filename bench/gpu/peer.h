// A peer in Python (attention_peer.py) that takes turns with a kernel of this process on the same GPU.
#pragma once

#include <string>
#include <vector>

#include "bench/gpu/check.h"
#include "bench/gpu/command.h"
#include "bench/gpu/workload.h"

namespace spscope::gpu_check {

class AttentionPeer {
 public:
  AttentionPeer(const CheckContext& context, const Heads& heads, int tokens);

  const std::string& missing() const { return missing_; }    // why there is none; "" when it is ready
  const std::string& versions() const { return versions_; }  // "torch 2.11.0, CUDA 13.0, backend ..."
  // Milliseconds of its attention, the median of some launches after a warm-up. Throws Error.
  double run_ms();

 private:
  std::string answer_or_fail();

  std::string error_file_;
  Conversation conversation_;
  std::string missing_, versions_;
};

}  // namespace spscope::gpu_check
