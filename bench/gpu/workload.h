// Attention of Wan2.1-1.3B, dense or with random masks, as requests; and the time of its one launch.
#pragma once

#include "backend/execute/activations.h"
#include "backend/plan/request.h"
#include "bench/gpu/rank_alone.h"

namespace spscope::gpu_check {

// The 12 heads of 128 of Wan2.1-1.3B, or 2 of 16 where kernels are emulated.
struct Heads {
  int heads, head_dim;
};
constexpr Heads bench_heads(bool tiny) { return tiny ? Heads{2, 16} : Heads{12, 128}; }

// Requests in bf16. Every block of every row is active.
Request dense_request(int ranks, const Heads& heads, int tokens, int block);
// The same number of blocks, chosen at random, in each row.
Request sparse_request(const Heads& heads, int tokens, int block, double density);
// 480 x 832 pixels and 81 frames: 21 x 30 x 52 = 32,760 tokens; tiny: 120.
Request wan_request(int ranks, bool tiny);

Plan default_plan(const char* strategy, const Request& request);
// One rank attends its keys in 8 parts, as a ring does: an op each.
Plan plan_in_parts(const Request& request);

// Of the two products, 2 FLOPs a multiply-add.
double attention_flops(const Request& request);

// The attention of a request on one rank, ready to be timed.
class AttentionBench {
 public:
  // The activations outlive it. Throws Error.
  AttentionBench(Request request, const Activations& activations)
      : request_(std::move(request)), plan_(default_plan("single", request_)), rank_(plan_, request_, activations) {}

  const Request& request() const { return request_; }
  // Milliseconds: the median of launches back to back, each between two events of the device, after a warm-up. Throws
  // Error.
  double run_ms() {
    rank_.warm_up();
    return rank_.run_ms(kLaunches);
  }
  double tflop_per_s(double ms) const { return attention_flops(request_) / ms * 1e-9; }

 private:
  static constexpr int kLaunches = 8;  // as attention_peer.py

  const Request request_;
  const Plan plan_;
  RankAlone rank_;
};

}  // namespace spscope::gpu_check
