// What the collector `cupti` costs a layer of Wan2.1-1.3B, and whether what it says of each op is what the events of
// the op's stream say.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "backend/base/median.h"
#include "backend/collect/shard_writer.h"
#include "backend/execute/execute.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/cupti_here.h"
#include "bench/gpu/watched_ops.h"
#include "bench/gpu/workload.h"
#include "tests/support/kept_trace.h"

namespace spscope::gpu_check {
namespace {

constexpr double kMostCost = 0.01, kMostSumDifference = 0.02;
// The steps of events and the pause between two ops are microseconds, which a shorter op feels.
constexpr double kLeastOpMs = 0.5;
// The executor knows the clock of a GPU as well as it saw an event end: within 15 us, and the clocks drift.
constexpr double kMostOutsideUs = 50;
// CUPTI's times of kernels are a linear fit of the GPU's clock to the host's.
constexpr std::int64_t kClockErrorNs = 10'000;

struct Layer {
  Request request;
  Activations activations = generate_activations(request, 1);
  Plan plan = plan_in_parts(request);
  int warmup = 0, repeats = 1;

  // Milliseconds of a repeat, the median.
  double run_ms(OpRecorder& recorder) const {
    ExecuteOptions options;
    options.device = "cuda";
    options.warmup = warmup;
    options.repeats = repeats;
    options.recorder = &recorder;
    return static_cast<double>(median(execute(plan, request, activations, options).makespan_ns)) * 1e-6;
  }
  double run_alone_ms() const {
    WatchedOps ops(plan.ops.size(), nullptr);
    return run_ms(ops);
  }
};

// Events on all tracks, and records that came to none: of the collector, and where rings were full.
struct Stored {
  std::int64_t events = 0, lost = 0;
};

// As a run collects: into a shard on disk. What became of its records is added to `all`.
double run_collected_ms(const Layer& layer, const CuptiHere& cupti, const std::string& path, Stored& all) {
  std::filesystem::remove(path);
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, '0')};
  ShardWriter shard(path, options);
  const std::unique_ptr<Collector> collector = cupti.start(shard);
  WatchedOps ops(layer.plan.ops.size(), collector.get());
  const double ms = layer.run_ms(ops);
  collector->stop();
  shard.finish();
  if (const std::optional<Error> failed = shard.failure()) throw Error(*failed);
  for (const ShardWriter::TrackCount& count : shard.counts()) {
    all.events += count.stored;
    all.lost += count.dropped + count.unreadable;
  }
  return ms;
}

void add_cost(const Layer& layer, const CuptiHere& cupti, const CheckContext& context, CheckResult& result) {
  const std::string shard = context.out + "/collected.db";
  std::vector<double> before, without, with, ratios;
  Stored all;
  // CUPTI was not started in this process yet: what it leaves behind in a driver that it no longer watches is seen.
  for (int i = 0; i < (context.tiny ? 1 : 5); ++i) before.push_back(layer.run_alone_ms());
  for (int pair = 0; pair < context.rounds_of(20, 2); ++pair) {
    const bool collected_first = pair % 2 == 1;
    if (collected_first) with.push_back(run_collected_ms(layer, cupti, shard, all));
    without.push_back(layer.run_alone_ms());
    if (!collected_first) with.push_back(run_collected_ms(layer, cupti, shard, all));
    ratios.push_back(with.back() / without.back());
  }
  std::filesystem::remove(shard);
  if (all.lost > 0)
    result.faults.push_back(fmt::format("{} records were dropped, beside {} events", all.lost, all.events));
  result.figures.push_back({"time that cupti adds to the layer", "", median(ratios) - 1, Bound::kAtMost, kMostCost});
  result.figures.push_back({"layer without cupti", "ms", median(without)});
  result.figures.push_back({"layer with cupti", "ms", median(with)});
  result.figures.push_back({"without cupti, after it was started over before", "", median(without) / median(before)});
}

struct OpKernels {
  int count = 0;
  std::vector<std::int64_t> ns_of_pass = {};
};

// What the collector saw of the timed repeats of a layer.
class Seen {
 public:
  Seen(KeptTrace& sink, const WatchedOps& ops) : ops_(ops) {
    for (const KeptTrace::KeptTrack& kept : sink.tracks())
      for (const RingRecord& record : kept.records)
        if (event_category(record.span.flags) == EventCategory::kApi)
          called_ns_[record.work().correlation] = record.span.begin_ns;
    for (const KeptTrace::KeptTrack& kept : sink.tracks())
      for (const RingRecord& record : kept.records) {
        if (event_category(record.span.flags) != EventCategory::kKernel) continue;
        ++kernels_seen_;
        if (record.span.op_id != kNone) take(record.work());
      }
  }

  OpKernels of(OpId op) const {
    const auto found = kernels_.find(op);
    return found == kernels_.end() ? OpKernels{} : found->second;
  }
  int kernels() const { return kernels_seen_; }  // those of warm-ups, which have no op, too
  int early() const { return early_; }
  int with_call() const { return with_call_; }
  std::int64_t most_outside_ns() const { return most_outside_ns_; }
  std::int64_t most_early_ns() const { return most_early_ns_; }

 private:
  void take(const WorkEvent& kernel) {
    const auto op = static_cast<OpId>(kernel.span.op_id);
    OpKernels& kernels = kernels_[op];
    ++kernels.count;
    // It is of the repeat that it lies in, or least outside of.
    std::int64_t outside_ns = INT64_MAX, launched_ns = INT64_MAX;
    const std::vector<WatchedOps::Pass> passes = ops_.passes(op);
    kernels.ns_of_pass.resize(passes.size());
    std::size_t of_pass = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const WatchedOps::Pass& pass = passes[i];
      const std::int64_t outside = std::max(
          {std::int64_t{0}, pass.times.post_ns - kernel.span.begin_ns, kernel.span.end_ns - pass.times.end_ns});
      if (outside >= outside_ns) continue;
      outside_ns = outside;
      launched_ns = pass.launched_ns;
      of_pass = i;
    }
    if (!passes.empty()) kernels.ns_of_pass[of_pass] += kernel.span.end_ns - kernel.span.begin_ns;
    most_outside_ns_ = std::max(most_outside_ns_, outside_ns);
    if (const auto call = called_ns_.find(kernel.correlation); call != called_ns_.end()) {
      ++with_call_;
      launched_ns = std::max(launched_ns, call->second);
    }
    most_early_ns_ = std::max(most_early_ns_, launched_ns - kernel.span.begin_ns);
    early_ += launched_ns - kernel.span.begin_ns > kClockErrorNs;
  }

  const WatchedOps& ops_;
  std::unordered_map<std::uint32_t, std::int64_t> called_ns_;  // by correlation: when the call began
  std::map<OpId, OpKernels> kernels_;
  int kernels_seen_ = 0;
  int early_ = 0, with_call_ = 0;  // kernels that begin before their launch; whose call was recorded
  std::int64_t most_outside_ns_ = 0, most_early_ns_ = 0;
};

void add_ops(const Layer& layer, const std::map<OpId, int>& launches, const CuptiHere& cupti, bool tiny,
             CheckResult& result) {
  KeptTrace sink(std::size_t{1} << 16);  // nobody takes records out meanwhile
  const std::unique_ptr<Collector> collector = cupti.start(sink);
  WatchedOps ops(layer.plan.ops.size(), collector.get());
  layer.run_ms(ops);
  collector->stop();
  add_notes(*collector, result);
  const Seen seen(sink, ops);
  const auto apart = [](std::int64_t a, std::int64_t b) {
    return std::abs(static_cast<double>(a) / static_cast<double>(b) - 1);
  };
  std::int64_t launched = 0, all_kernels_ns = 0, all_events_ns = 0;
  double worst = 0;
  int long_ops = 0, kernels = 0;
  for (const auto& [op, count] : launches) {
    const OpKernels found = seen.of(op);
    kernels += found.count;
    launched += count;
    // Of each repeat, as the device may wait for the host at the first op of one.
    std::vector<double> differences, events_ms;
    const std::vector<WatchedOps::Pass> passes = ops.passes(op);
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const std::int64_t kernels_ns = i < found.ns_of_pass.size() ? found.ns_of_pass[i] : 0,
                         events_ns = passes[i].times.end_ns - passes[i].times.post_ns;
      all_kernels_ns += kernels_ns;
      all_events_ns += events_ns;
      differences.push_back(apart(kernels_ns, events_ns));
      events_ms.push_back(static_cast<double>(events_ns) * 1e-6);
    }
    if (passes.empty() || median(events_ms) < kLeastOpMs) continue;
    ++long_ops;
    worst = std::max(worst, median(differences));
  }
  const std::int64_t dropped = collector->cost().dropped;
  const std::int64_t lost = launched * (layer.warmup + layer.repeats) - seen.kernels();
  const std::int64_t without_op = launched * layer.repeats - kernels;
  if (lost < 0)
    result.faults.push_back(fmt::format("{} kernels more than were launched are stored", -lost));
  else if (lost > dropped)
    result.faults.push_back(
        fmt::format("{} launches are neither stored nor counted: {} kernels are stored, {} records dropped",
                    lost - dropped, seen.kernels(), dropped));
  else if (without_op < 0)
    result.faults.push_back(fmt::format("{} kernels more than were launched for ops are stored with one", -without_op));
  else if (without_op > dropped)
    result.faults.push_back(fmt::format("{} of {} kernels of ops are stored without their op, {} records were dropped",
                                        without_op, launched * layer.repeats, dropped));
  if (long_ops == 0 && !tiny)
    result.faults.push_back(fmt::format("no op takes {} ms, so none is compared with its events", kLeastOpMs));
  result.figures.push_back({fmt::format("kernels of an op against its events, worst of {} ops", long_ops), "", worst,
                            Bound::kAtMost, kMostSumDifference});
  result.figures.push_back({"kernels of all ops against their events", "", apart(all_kernels_ns, all_events_ns)});
  result.figures.push_back({"kernels of ops", "", static_cast<double>(kernels)});
  result.figures.push_back({"of these with the call that launched them", "", static_cast<double>(seen.with_call())});
  result.figures.push_back(
      {"kernels that begin over 10 us before their launch", "", static_cast<double>(seen.early()), Bound::kAtMost, 0});
  result.figures.push_back(
      {"earliest begin of a kernel before its launch", "us", static_cast<double>(seen.most_early_ns()) * 1e-3});
  result.figures.push_back({"longest time of a kernel outside of its op", "us",
                            static_cast<double>(seen.most_outside_ns()) * 1e-3, Bound::kAtMost, kMostOutsideUs});
}

}  // namespace

CheckResult check_collect_cost(const CheckContext& context) {
  CheckResult result;
  const CuptiHere cupti(context, result);
  if (cupti.is_missing()) return result;
  const Request request = wan_request(1, context.tiny);
  const Layer layer{.request = request, .warmup = context.tiny ? 1 : 2, .repeats = context.tiny ? 1 : 5};
  result.facts["workload"] = fmt::format("{} tokens, {} heads of {}, bf16, {} ops", request.inner_tokens, request.heads,
                                         request.head_dim, layer.plan.ops.size());
  const std::map<OpId, int> launches = RankAlone(layer.plan, layer.request, layer.activations).launches();
  add_cost(layer, cupti, context, result);
  add_ops(layer, launches, cupti, context.tiny, result);
  return result;
}

}  // namespace spscope::gpu_check
