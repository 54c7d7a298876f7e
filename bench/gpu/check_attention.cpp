// The attention kernel for tensor cores (kernels/cuda/attend_mma.cuh): dense beside FlashAttention-2 and cuDNN of
// PyTorch, sparse beside itself and FlexAttention, all in turn on the same GPU.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "backend/base/median.h"
#include "backend/base/whole_file.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/peer.h"
#include "bench/gpu/workload.h"

namespace spscope::gpu_check {
namespace {

constexpr double kOfFlashAttention = 0.95;
// Blocks of 64 rows read each tile of keys twice as often from the second-level cache as blocks of 128 rows, at about
// the rate that it has (docs/gpu-check.md).
double of_dense(int block) { return block < 128 ? 0.70 : 0.85; }
struct PeerName {
  const char *backend, *name;
};
constexpr PeerName kFlash{"FLASH_ATTENTION", "FlashAttention-2"}, kCudnn{"CUDNN_ATTENTION", "cuDNN"};
constexpr double kDensities[] = {0.05, 0.1, 0.2, 0.4, 0.7};
constexpr int kDenseBlock = 128;

constexpr int kMeasuredRounds = 20;  // of which medians are taken

// The ratio of a round is taken inside it, so that a clock that changes between rounds does not enter.
void compare(AttentionPeer& peer, AttentionBench& bench, int rounds, CheckResult& result) {
  struct Beside {
    PeerName peer;
    Bound bound;
    std::vector<double> ms = {}, ratios = {};
  };
  std::vector<double> ours;
  std::vector<Beside> all;
  if (peer.has(kFlash.backend)) all.push_back({kFlash, Bound::kAtLeast});
  if (peer.has(kCudnn.backend)) all.push_back({kCudnn, Bound::kNone});
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(bench.run_ms());
    for (Beside& beside : all) {
      beside.ms.push_back(peer.run_ms(beside.peer.backend));
      beside.ratios.push_back(beside.ms.back() / ours.back());
    }
  }
  for (const Beside& beside : all) {
    result.figures.push_back(
        {fmt::format("rate over {}'s", beside.peer.name), "", median(beside.ratios), beside.bound, kOfFlashAttention});
    result.figures.push_back({beside.peer.name, "TFLOP/s", bench.tflop_per_s(median(beside.ms))});
  }
  result.figures.push_back({"rate", "TFLOP/s", bench.tflop_per_s(median(ours))});
  result.figures.push_back({"time", "ms", median(ours)});
}

// A byte for each head, row and column of blocks, for attention_peer.py.
std::string write_mask(const BlockMask& mask, std::string path) {
  std::string bytes;
  for (int head = 0; head < mask.heads(); ++head)
    for (int row = 0; row < mask.coarse_blocks(); ++row)
      for (int column = 0; column < mask.coarse_blocks(); ++column)
        bytes += mask.active(head, row, column) ? '\1' : '\0';
  write_whole_file(path, bytes);
  return path;
}

// FlexAttention with the same masks; nothing, and why, where there is none.
std::unique_ptr<AttentionPeer> flex_attention(const CheckContext& context, const Heads& heads, int block,
                                              const std::vector<std::unique_ptr<AttentionBench>>& benches,
                                              CheckResult& result) {
  std::vector<std::string> masks;
  for (const auto& bench : benches)
    masks.push_back(
        write_mask(bench->request().executed_mask().mask(), fmt::format("{}/mask-{}", context.out, masks.size())));
  try {
    auto peer = std::make_unique<AttentionPeer>(context, heads, benches.front()->request().inner_tokens, block, masks);
    result.facts[peer->missing().empty() ? "peer" : "no FlexAttention"] =
        peer->missing().empty() ? peer->versions() : peer->missing();
    if (!peer->without().empty()) result.facts["no FlexAttention"] = peer->without();
    if (peer->missing().empty()) return peer;
  } catch (const Error& error) {
    result.facts["no FlexAttention"] = error.what();
  }
  return nullptr;
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
  AttentionBench bench(request, activations);
  CheckResult result;
  result.facts["workload"] = workload_text(request);
  const auto alone = [&](const std::string& reason) {
    result.skipped = "no comparison with FlashAttention-2: " + reason;
    const double ms = bench.run_ms();
    result.figures = {{"rate", "TFLOP/s", bench.tflop_per_s(ms)}, {"time", "ms", ms}};
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
  if (!peer->without().empty()) result.facts["peers that are missing"] = peer->without();
  compare(*peer, bench, context.rounds_of(kMeasuredRounds), result);
  return result;
}

CheckResult check_sparse(const CheckContext& context, int block) {
  const Heads heads = bench_heads(context.tiny);
  const int tokens = context.tiny ? 512 : 32768;
  const Request dense = dense_request(1, heads, tokens, kDenseBlock);
  const Activations activations = generate_activations(dense, 1);
  AttentionBench dense_bench(dense, activations);
  std::vector<std::unique_ptr<AttentionBench>> benches;
  for (const double density : kDensities)
    benches.push_back(std::make_unique<AttentionBench>(sparse_request(heads, tokens, block, density), activations));
  CheckResult result;
  const std::unique_ptr<AttentionPeer> flex = flex_attention(context, heads, block, benches, result);
  std::vector<std::vector<double>> ratios(benches.size()), of_flex(benches.size());
  std::vector<double> dense_rates;
  for (int round = 0; round < context.rounds_of(kMeasuredRounds); ++round)
    for (std::size_t i = 0; i < benches.size(); ++i) {
      dense_rates.push_back(dense_bench.tflop_per_s(dense_bench.run_ms()));
      const double ms = benches[i]->run_ms();
      ratios[i].push_back(benches[i]->tflop_per_s(ms) / dense_rates.back());
      if (flex != nullptr && flex->has(std::to_string(i))) of_flex[i].push_back(flex->run_ms(std::to_string(i)) / ms);
    }
  result.facts["workload"] = workload_text(dense) + ", equal rows, random blocks";
  result.figures = {{"dense rate", "TFLOP/s", median(dense_rates)}};
  for (std::size_t i = 0; i < benches.size(); ++i) {
    const std::string rate =
        fmt::format("rate at density {:.3g} over", benches[i]->request().executed_mask().mask().density());
    result.figures.push_back({rate + " dense", "", median(ratios[i]), Bound::kAtLeast, of_dense(block)});
    if (!of_flex[i].empty()) result.figures.push_back({rate + " FlexAttention's", "", median(of_flex[i])});
  }
  return result;
}

}  // namespace spscope::gpu_check
