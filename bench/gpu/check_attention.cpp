// The attention kernel for tensor cores (kernels/cuda/attend_mma.cuh): dense beside FlashAttention-2 of PyTorch, both
// in turn on the same GPU, and sparse beside itself.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "backend/base/median.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/peer.h"
#include "bench/gpu/workload.h"

namespace spscope::gpu_check {
namespace {

constexpr double kOfFlashAttention = 0.95, kOfDense = 0.85;
constexpr double kDensities[] = {0.05, 0.1, 0.2, 0.4, 0.7};
constexpr int kDenseBlock = 128;

double tflop_per_s(const Request& request, double ms) { return attention_flops(request) / ms * 1e-9; }

// The ratio of a round is taken inside it, so that a clock that changes between rounds does not enter.
void compare(AttentionPeer& peer, const Request& request, const Activations& activations, int rounds,
             CheckResult& result) {
  std::vector<double> ours, theirs, ratios;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(kernel_ms(request, activations));
    theirs.push_back(peer.run_ms());
    ratios.push_back(theirs.back() / ours.back());
  }
  result.figures = {
      {"rate over FlashAttention-2's", "", median(ratios), Bound::kAtLeast, kOfFlashAttention},
      {"rate", "TFLOP/s", tflop_per_s(request, median(ours))},
      {"FlashAttention-2", "TFLOP/s", tflop_per_s(request, median(theirs))},
      {"time", "ms", median(ours)},
  };
}

std::string workload_text(const Request& request) {
  return fmt::format("{} tokens, {} heads of {}, bf16", request.inner_tokens, request.heads, request.head_dim);
}

}  // namespace

CheckResult check_dense(const CheckContext& context, int tokens) {
  const Heads heads = bench_heads(context.tiny);
  if (context.tiny) tokens /= 128;
  const Request request = dense_request(1, heads, tokens, kDenseBlock);
  const Activations activations = generate_activations(request, 1);
  CheckResult result;
  result.facts["workload"] = workload_text(request);
  const auto alone = [&](const std::string& reason) {
    result.skipped = "no comparison with FlashAttention-2: " + reason;
    const double ms = kernel_ms(request, activations);
    result.figures = {{"rate", "TFLOP/s", tflop_per_s(request, ms)}, {"time", "ms", ms}};
  };
  std::unique_ptr<AttentionPeer> peer;
  try {
    peer = std::make_unique<AttentionPeer>(context, heads, tokens);
  } catch (const Error& error) {
    alone(error.what());
    return result;
  }
  if (!peer->missing().empty()) {
    alone(peer->missing());
    return result;
  }
  result.facts["peer"] = peer->versions();
  compare(*peer, request, activations, context.tiny ? 2 : 7, result);
  return result;
}

CheckResult check_sparse(const CheckContext& context, int block) {
  const Heads heads = bench_heads(context.tiny);
  const int tokens = context.tiny ? 512 : 32768, rounds = context.tiny ? 1 : 5;
  const Request dense = dense_request(1, heads, tokens, kDenseBlock);
  const Activations activations = generate_activations(dense, 1);
  std::vector<Request> requests;
  for (const double density : kDensities) requests.push_back(sparse_request(heads, tokens, block, density));
  std::vector<std::vector<double>> ratios(requests.size());
  std::vector<double> dense_rates;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < requests.size(); ++i) {
      dense_rates.push_back(tflop_per_s(dense, kernel_ms(dense, activations)));
      ratios[i].push_back(tflop_per_s(requests[i], kernel_ms(requests[i], activations)) / dense_rates.back());
    }
  CheckResult result;
  result.facts["workload"] = workload_text(dense) + ", equal rows, random blocks";
  result.figures = {{"dense rate", "TFLOP/s", median(dense_rates)}};
  for (std::size_t i = 0; i < requests.size(); ++i)
    result.figures.push_back(
        {fmt::format("rate at density {:.3g} over dense", requests[i].executed_mask().mask().density()), "",
         median(ratios[i]), Bound::kAtLeast, kOfDense});
  return result;
}

}  // namespace spscope::gpu_check
