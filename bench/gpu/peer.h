// Peers in Python (attention_peer.py) that takes turns with a kernel of this process on the same GPU.
#pragma once

#include <set>
#include <span>
#include <string>

#include "bench/gpu/check.h"
#include "bench/gpu/command.h"
#include "bench/gpu/workload.h"

namespace spscope::gpu_check {

class AttentionPeer {
 public:
  // Dense; with `masks`, files of one byte a head, row and column of blocks, FlexAttention with each: the backends "0",
  // "1", ... Throws Error.
  AttentionPeer(const CheckContext& context, const Heads& heads, int tokens, int block = 0,
                std::span<const std::string> masks = {});

  const std::string& missing() const { return missing_; }    // why there is none; "" when it is ready
  const std::string& versions() const { return versions_; }  // "torch 2.11.0, CUDA 13.0, backend ..."
  // Of PyTorch, as SDPBackend names them.
  bool has(const std::string& backend) const { return backends_.contains(backend); }
  const std::string& without() const { return without_; }  // why others are missing
  // Milliseconds of its attention, the median of some launches after a warm-up. Throws Error. REQUIRES: has(backend).
  double run_ms(const std::string& backend);

 private:
  std::string answer_or_fail();

  std::string error_file_;
  Conversation conversation_;
  std::string missing_, versions_, without_;
  std::set<std::string> backends_;
};

}  // namespace spscope::gpu_check
