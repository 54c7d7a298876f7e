// Attention of Wan2.1-1.3B, dense or with random masks, as requests; and the time of its one launch.
#pragma once

#include "backend/execute/activations.h"
#include "backend/plan/request.h"

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

// Of the two products, 2 FLOPs a multiply-add.
double attention_flops(const Request& request);

// Milliseconds of the kernel that runs the request on one rank: the median of some launches between two events of the
// device, after a warm-up.
double kernel_ms(const Request& request, const Activations& activations);

}  // namespace spscope::gpu_check
