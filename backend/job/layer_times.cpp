#include "backend/job/layer_times.h"

#include <algorithm>

#include "backend/base/result.h"
#include "backend/config/environment.h"
#include "backend/execute/measure.h"
#include "backend/schedule/cost.h"

namespace spscope {
namespace {

// Compute, of one or more repeats, on a network that only the schedule knows.
TimedLayer to_schedule(const PlannedLayer& planned, std::vector<std::vector<std::int64_t>> compute_of_repeats,
                       Source compute_source) {
  TimedLayer timed;
  timed.provenance = {compute_source, Source::kModelled, Timing::kClean};
  timed.usage = planned_usage(planned);
  timed.compute_ns = std::move(compute_of_repeats);
  return timed;
}

// What the communicators counted takes the place of what the plan says; both must agree.
void count_usage(TimedLayer& timed, const PlannedLayer& planned, const ExecuteResult& result) {
  timed.usage = planned_usage(planned);
  for (RankUsage& rank : timed.usage) {
    const auto r = static_cast<std::size_t>(rank.rank);
    if (result.traffic.sent[r] != planned.volume.sent[r] || result.traffic.received[r] != planned.volume.received[r])
      throw Error(ErrorCode::kRankFailed, "rank " + std::to_string(rank.rank) + " moved other bytes than its plan says",
                  "this is a defect of spscope; please report it with the config");
    rank.bytes_sent_intra_node = result.traffic.sent_intra_node[r];
    rank.bytes_sent_inter_node = result.traffic.sent_inter_node[r];
    rank.bytes_received = result.traffic.received[r];
    rank.memory_peak_bytes = result.peak_bytes[r];
    if (!result.host_post_ns.empty()) rank.host_post_ns = result.host_post_ns[r];
    rank.counted = true;
  }
}

// The outputs of each pass, by Value::layer as those of pass 0 have it.
std::vector<std::vector<OutputTensor>> by_pass(std::vector<OutputTensor> outputs, const Request& request) {
  const int attentions = num_attentions(request);
  std::vector<std::vector<OutputTensor>> passes(static_cast<std::size_t>(request.passes));
  for (OutputTensor& output : outputs) {
    const int pass = output.layer / attentions;
    output.layer %= attentions;
    passes[static_cast<std::size_t>(pass)].push_back(std::move(output));
  }
  return passes;
}

// Holds the outputs of each pass to its reference, where there are references.
void check_outputs(const TimingContext& context, TimedLayer& timed,
                   std::span<const std::vector<OutputTensor>> of_passes) {
  if (!context.references.empty() && context.on_check) context.on_check();
  for (std::size_t pass = 0; pass < context.references.size(); ++pass)
    add_check(timed, context.references[pass]->check(of_passes[pass]));
}

// The outputs of a plan whose ranks were measured one after the other: all of them run it once, in this process. They
// need the memory of all ranks at once, and GPUs that reach each other, which measuring does not.
void check_projected(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                     const Activations& activations, TimedLayer& timed) {
  ExecuteOptions options;
  options.device = context.job.config.run.device;
  options.interrupt = context.interrupt;
  options.watchdog_seconds = patience_seconds();
  Result<ExecuteResult> ran = capture([&] { return execute(planned.plan, request, activations, options); });
  if (ran) return check_outputs(context, timed, by_pass(std::move(ran->outputs), request));
  const ErrorCode code = ran.error().code();
  if (code != ErrorCode::kDeviceMemory && code != ErrorCode::kNoDevice) throw ran.error();
  timed.unchecked = std::string(ran.error().what()) + "; run.verify = off checks none";
}

TimedLayer project(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                   const Activations& activations) {
  const RunSection& run = context.job.config.run;
  MeasureOptions options;
  options.threads_per_rank = run.threads_per_rank;
  options.repeats = run.repeats;
  options.warmup = run.warmup;
  options.load = run.measure;
  options.interrupt = context.interrupt;
  options.on_rank = context.on_pass;
  TimedLayer timed =
      to_schedule(planned, measure_compute(planned.plan, request, activations, run.device, options), Source::kMeasured);
  if (!context.references.empty()) check_projected(context, planned, request, activations, timed);
  return timed;
}

TimedLayer execute_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                         const Activations& activations) {
  ExecuteOptions options = execute_options(context, request.ranks_per_node);
  options.recorder = context.recorder;
  options.on_run = context.on_pass;
  ExecuteResult result = execute(planned.plan, request, activations, options);
  TimedLayer timed;
  timed.provenance = result.provenance;
  count_usage(timed, planned, result);
  timed.outputs = by_pass(std::move(result.outputs), request);
  check_outputs(context, timed, timed.outputs);
  for (Timeline& timeline : result.timelines) {
    const std::int64_t makespan_ns = timeline.makespan_ns();
    timed.repeats.push_back({std::move(timeline), makespan_ns, 0});
  }
  return timed;
}

}  // namespace

ExecuteOptions execute_options(const TimingContext& context, int ranks_per_node) {
  const RunSection& run = context.job.config.run;
  ExecuteOptions options;
  options.device = run.device;
  options.backend = run.backend;
  options.comm = run.comm;
  options.repeats = run.repeats;
  options.warmup = run.warmup;
  options.threads_per_rank = run.threads_per_rank;
  options.ranks_per_node = ranks_per_node;
  options.interrupt = context.interrupt;
  options.world = context.world;
  options.watchdog_seconds = patience_seconds();
  return options;
}

void add_check(TimedLayer& timed, const TimedLayer& more) {
  if (more.error_metric.empty()) return;
  const bool first = timed.error_metric.empty();
  if (first || more.verdict == Verdict::kFailed || timed.verdict == Verdict::kPassed) timed.verdict = more.verdict;
  if (more.max_error) timed.max_error = std::max(timed.max_error.value_or(0), *more.max_error);
  timed.num_unjudged += more.num_unjudged;
  timed.error_metric = more.error_metric;
}

void add_check(TimedLayer& timed, const Verification& check) {
  TimedLayer more;
  more.verdict = check.verdict;
  if (check.num_unjudged < check.num_rows) more.max_error = check.max_error;
  more.num_unjudged = check.num_unjudged;
  more.error_metric = kErrorMetric;
  add_check(timed, more);
}

TimedLayer time_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                      const Activations& activations) {
  switch (context.job.config.run.mode) {
    case RunMode::kExecute:
      return execute_layer(context, planned, request, activations);
    case RunMode::kProject:
      return project(context, planned, request, activations);
    case RunMode::kSimulate: {
      const KernelCostProfile& cost = context.job.cluster.preset.cost;
      TimedLayer timed = to_schedule(planned, {op_durations(planned.plan, cost)}, Source::kModelled);
      timed.host = host_times(planned.plan, cost);
      return timed;
    }
    case RunMode::kObserved:
      break;  // no config has it
  }
  return {};
}

}  // namespace spscope
