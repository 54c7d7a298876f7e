#include "backend/job/layer_times.h"

#include <algorithm>

#include "backend/config/environment.h"
#include "backend/execute/measure.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/memory.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

// Compute, of one or more repeats, on a network that only the schedule knows.
TimedLayer scheduled(const TimingContext& context, const PlannedLayer& planned,
                     const std::vector<std::vector<std::int64_t>>& compute_of_repeats, Source compute_source) {
  TimedLayer timed;
  timed.provenance = {compute_source, Source::kModelled, Timing::kClean};
  timed.usage = planned_usage(planned);
  for (const std::vector<std::int64_t>& compute : compute_of_repeats) {
    timed.timelines.push_back(schedule(planned.plan, compute, context.network));
    const std::vector<std::int64_t> peak = memory(planned.plan, timed.timelines.back());
    for (RankUsage& rank : timed.usage)
      rank.memory_peak_bytes = std::max(rank.memory_peak_bytes, peak[static_cast<std::size_t>(rank.rank)]);
  }
  return timed;
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
  return scheduled(context, planned,
                   measure_compute(planned.plan, request, activations, run.device, options, context.job.executors),
                   Source::kMeasured);
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
    rank.counted = true;
  }
}

TimedLayer execute_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                         const Activations& activations) {
  const RunSection& run = context.job.config.run;
  ExecuteOptions options;
  options.device = run.device;
  options.backend = run.backend;
  options.comm = run.comm;
  options.repeats = run.repeats;
  options.warmup = run.warmup;
  options.threads_per_rank = run.threads_per_rank;
  options.ranks_per_node = request.ranks_per_node;
  options.recorder = context.recorder;
  options.interrupt = context.interrupt;
  options.world = context.world;
  options.watchdog_seconds = patience_seconds();
  options.on_run = context.on_pass;
  ExecuteResult result = execute(planned.plan, request, activations, options, context.job.executors);
  TimedLayer timed;
  timed.provenance = result.provenance;
  count_usage(timed, planned, result);
  if (context.reference) {
    if (context.on_check) context.on_check();
    const Verification check = context.reference->check(result.outputs);
    timed.verdict = check.verdict;
    if (check.num_unjudged < check.num_rows) timed.max_error = check.max_error;
    timed.num_unjudged = check.num_unjudged;
    timed.error_metric = kErrorMetric;
  }
  timed.timelines = std::move(result.timelines);
  timed.outputs = std::move(result.outputs);
  return timed;
}

}  // namespace

TimedLayer time_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                      const Activations& activations) {
  switch (context.job.config.run.mode) {
    case RunMode::kExecute:
      return execute_layer(context, planned, request, activations);
    case RunMode::kProject:
      return project(context, planned, request, activations);
    case RunMode::kSimulate:
      return scheduled(context, planned, {op_durations(planned.plan, context.job.cluster.preset.cost)},
                       Source::kModelled);
  }
  return {};
}

}  // namespace spscope
