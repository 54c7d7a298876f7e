// The network between two threads: a ring of two ranks in which k and v make one hop, with hardly any attention. How
// long the hop takes is fitted against its bytes. Then the same ring with the hop beside the compute instead of after
// it tells how much communication slows the compute of its rank.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "backend/base/cores.h"
#include "backend/base/median.h"
#include "backend/execute/calibrate/calibrate_experiment.h"

namespace spscope {
namespace {

constexpr int kHeadDim = 64;
constexpr std::int32_t kMaxBlock = 256;
constexpr std::int64_t kLeastMessageBytes = std::int64_t{16} << 10;
constexpr std::int64_t kMessageBytes = std::int64_t{16} << 20;  // of the largest
constexpr int kSizeFactor = 4;                                  // from one size of message to the next
// Blocks of rows that each rank attends while k and v travel: some milliseconds, as long as the largest hop.
constexpr std::int32_t kComputeBlocks = 8;
constexpr double kLinkShare = 0.7;    // of the time to be spent
constexpr int kMostAttempts = 3;      // each adds as many runs, so that a neighbour who came and went matters less
constexpr double kMaxSlowdown = 100;  // of a cluster file; compute that slows by more was not seen to make progress

std::int64_t largest_message(const CalibrateOptions& options) {
  return options.max_message_bytes > 0 ? options.max_message_bytes : kMessageBytes;
}

// One head. In each half of the tokens `num_rows` blocks attend to themselves, and the first also to the first block of
// the other half, so that what arrives is used.
BlockMask two_halves(std::int32_t tokens, std::int32_t num_rows) {
  BlockMask mask(1, BlockMask::uniform_starts(tokens, std::min(kMaxBlock, tokens / 2)));
  const std::int32_t half = mask.blocks() / 2;
  for (std::int32_t first : {0, half}) {
    for (std::int32_t i = first; i < first + std::min(half, num_rows); ++i) mask.set(0, i, i);
    mask.set(0, first, half - first);
  }
  return mask;
}

}  // namespace

Experiment ring_of_two(std::int64_t message_bytes, Hop hop, std::int32_t num_rows, Dtype dtype) {
  auto tokens_of_rank = static_cast<std::int32_t>(message_bytes / (2 * kHeadDim * dtype_bytes(dtype)));
  if (tokens_of_rank > kMaxBlock) tokens_of_rank -= tokens_of_rank % kMaxBlock;
  const std::int32_t tokens = 2 * tokens_of_rank;
  return make_experiment(2, kHeadDim, two_halves(tokens, num_rows), dtype, [hop](PlanBuilder& b) {
    const Request& request = b.request();
    const std::vector<SetId> halves = b.sets().even(request.all_inner(), 2);
    const Placement rows = b.place([&](int rank) {
      return BoxList{{request.all_heads(), request.all_outer(), halves[static_cast<std::size_t>(rank)]}};
    });
    const auto [q, kv] = b.input_qkv(rows);
    const AccId acc = b.accumulate(q);
    if (hop == Hop::kAfterCompute) b.attend(acc, kv, 0);
    const Move move = b.shift(kv, b.everyone());
    if (hop == Hop::kBesideCompute) b.attend(acc, kv, 0);
    b.attend(acc, b.wait(move), 1);
    b.output(b.finish(acc), rows);
  });
}

namespace {

// Bytes that a rank sends in the hop.
std::int64_t hop_bytes(const Plan& plan) {
  const std::vector<std::int64_t> sent = bytes_sent(plan);
  return *std::ranges::max_element(sent);
}

// The op of `rank` in its ring step.
OpId attend_op(const Plan& plan, int rank, int ring_step) {
  OpId found = kNone;
  for_each_op(plan, PostKind::kAttend, [&](OpId id, const Op& op) {
    if (op.rank == rank && plan.post_of(op).ring_step == ring_step) found = id;
  });
  return found;
}

// -- latency and bandwidth

// From when the slower rank had computed what precedes its post until each rank begins to use what has arrived.
void add_hop_times(const Experiment& experiment, const Timeline& timeline, std::vector<double>& runs_ns) {
  const Plan& plan = experiment.plan;
  std::int64_t could_post_ns = 0;
  for_each_op(plan, PostKind::kExchange, [&](OpId, const Op& op) {
    for (OpId dependency : plan.deps(op))
      could_post_ns = std::max(could_post_ns, times_of(timeline, dependency).end_ns);
  });
  for (int rank = 0; rank < plan.ranks; ++rank)
    runs_ns.push_back(static_cast<double>(times_of(timeline, attend_op(plan, rank, 1)).begin_ns - could_post_ns));
}

struct LinkFit {
  LinearFit fit;
  std::optional<LinkNumbers> numbers;
};

LinkFit fit_link(const CalibrateOptions& options) {
  std::vector<Experiment> experiments;
  for (std::int64_t bytes = kLeastMessageBytes; bytes <= largest_message(options); bytes *= kSizeFactor)
    experiments.push_back(ring_of_two(bytes, Hop::kAfterCompute, 1, options.dtype));
  std::vector<std::vector<double>> runs_ns(experiments.size());
  LinkFit found;
  for (int attempt = 0; attempt < kMostAttempts && !found.numbers; ++attempt) {
    repeat_rounds(kLinkShare * options.seconds, [&] {
      for (std::size_t e = 0; e < experiments.size(); ++e)
        for (const Timeline& timeline : run_experiment(experiments[e], options))
          add_hop_times(experiments[e], timeline, runs_ns[e]);
    });
    std::vector<FitSample> samples;
    for (std::size_t e = 0; e < experiments.size(); ++e)
      samples.push_back({{1, static_cast<double>(hop_bytes(experiments[e].plan))}, std::max(1.0, median(runs_ns[e]))});
    found.fit = fit_non_negative(samples);
    found.numbers = link_of(samples, found.fit);
  }
  return found;
}

// -- slow-down of compute

struct ComputeEnds {
  std::vector<double> attend_ns, overlap_ns;  // of each run and rank, from the start of the run
};

void add_compute_ends(const Experiment& experiment, const Timeline& timeline, ComputeEnds& ends) {
  const Plan& plan = experiment.plan;
  for_each_op(plan, PostKind::kExchange, [&](OpId id, const Op& op) {
    const std::int64_t attend_ns = times_of(timeline, attend_op(plan, op.rank, 0)).end_ns;
    ends.attend_ns.push_back(static_cast<double>(attend_ns));
    ends.overlap_ns.push_back(static_cast<double>(std::min(attend_ns, times_of(timeline, id).end_ns)));
  });
}

// Absent when compute beside an exchange was not seen to make progress.
std::optional<double> measure_slowdown(const CalibrateOptions& options) {
  const Experiment after = ring_of_two(largest_message(options), Hop::kAfterCompute, kComputeBlocks, options.dtype);
  const Experiment beside = ring_of_two(largest_message(options), Hop::kBesideCompute, kComputeBlocks, options.dtype);
  ComputeEnds alone, disturbed;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    repeat_rounds((1 - kLinkShare) * options.seconds, [&] {
      for (const Timeline& timeline : run_experiment(after, options)) add_compute_ends(after, timeline, alone);
      for (const Timeline& timeline : run_experiment(beside, options)) add_compute_ends(beside, timeline, disturbed);
    });
    const double delay_ns = median(disturbed.attend_ns) - median(alone.attend_ns);
    const double slowdown = slowdown_of(median(disturbed.overlap_ns), delay_ns);
    if (slowdown <= kMaxSlowdown) return slowdown;
  }
  return std::nullopt;
}

}  // namespace

NetworkCalibration calibrate_network(const CalibrateOptions& options) {
  if (options.on_phase) options.on_phase("exchanges between two threads");
  const LinkFit link = fit_link(options);
  if (options.on_phase) options.on_phase("compute beside an exchange");
  NetworkCalibration result;
  result.network.provenance = Provenance::kMeasured;
  if (link.numbers) {
    result.network.intra_latency_ns = link.numbers->latency_ns;
    result.network.link_gbps = link.numbers->gbps;
  } else {
    result.unmeasured = {"network.link_gbps", "network.intra_latency_ns"};
  }
  if (const std::optional<double> slowdown = measure_slowdown(options))
    result.network.compute_slowdown = *slowdown;
  else
    result.unmeasured.push_back("network.compute_slowdown");
  result.link = link.fit.quality;
  const std::string fitted = fmt::format(
      "measured: {} exchanges of 16 KiB to {} KiB between two threads, both ways at once; off by {:.0f} % in the "
      "median and {:.0f} % at most",
      dtype_name(options.dtype), largest_message(options) >> 10, 100 * result.link.median_relative_residual,
      100 * result.link.max_relative_residual);
  result.sources = {
      {"network.link_gbps", fitted},
      {"network.intra_latency_ns", fitted + "; from post to use, wake-ups included"},
      {"network.compute_slowdown",
       fmt::format("measured: attention of two ranks beside an exchange and before it, on {} cores", usable_cores())}};
  for (const std::string& number : result.unmeasured) result.sources[number] = "not measured: lost in noise";
  return result;
}

}  // namespace spscope
