#include "backend/job/completed_passes.h"

#include <utility>

#include "backend/base/stop_point.h"
#include "backend/schedule/bound.h"

namespace spscope {
namespace {

// Operations of plans that wait to be scheduled together: some 500 MB of them.
constexpr std::size_t kMostHeldOps = std::size_t{1} << 21;
constexpr std::size_t kOpsOfHalfASecond = std::size_t{1} << 18;  // so many are scheduled in it

// What no strategy can beat: proven from the cost model that the times come from, so there is none for measured times.
std::optional<std::int64_t> bound_of(const Job& job, const Request& request) {
  if (job.config.run.mode != RunMode::kSimulate) return std::nullopt;
  return makespan_bound_ns(request, make_plan(*find_strategy("single"), request, {}), job.cluster.preset.cost);
}

void store_run(StoreWriter& head, StrategyRun& run, std::optional<std::int64_t> bound) {
  RunRecord& record = run.record;
  record.provenance = run.timed.provenance;
  static_cast<RunFigures&>(record) = figures_of(run.planned, run.timed, bound);
  record.verdict = run.timed.verdict;
  record.max_error = run.timed.max_error;
  record.error_metric = run.timed.error_metric;
  head.finish_run(run.id, record);
  head.add_usage(run.id, run.timed.usage);
  head.add_traffic(run.id, run.traffic);
  const bool modelled = run.timed.provenance.network == Source::kModelled;
  for (std::size_t i = 0; i < run.timed.repeats.size(); ++i) {
    const ScheduledPass& pass = run.timed.repeats[i];
    RepeatRecord repeat;
    repeat.repeat = static_cast<int>(i);
    repeat.makespan_ns = pass.makespan_ns;
    repeat.lead_ns = pass.lead_ns;
    repeat.has_timeline = run.recorded;
    if (modelled)
      head.add_repeat(run.id, repeat, run.planned.plan, pass.timeline, run.timed.provenance);
    else
      head.add_repeat(run.id, repeat);
  }
}

void store_masks(StoreWriter& writer, WorkloadId workload, const LayerOfJob& where) {
  const auto place = [&](const SourcedMask& mask, AttendedAxis axis) {
    writer.place_mask(workload, {where.layer, where.denoise_step, axis, writer.add_mask(mask.mask, mask.recipe)});
  };
  place(where.masks.inner, AttendedAxis::kInner);
  if (where.masks.temporal) place(*where.masks.temporal, AttendedAxis::kOuter);
}

}  // namespace

std::size_t CompletedPasses::Pass::num_ops() const {
  std::size_t ops = 0;
  for (const StrategyRun& run : runs) ops += run.planned.plan.ops.size();
  return ops;
}

std::size_t CompletedPasses::num_held_ops() const {
  std::size_t ops = 0;
  for (const Pass& pass : held_) ops += pass.num_ops();
  return ops;
}

// Schedules and stores what is held, and makes it durable. An interrupt gives up what takes longer than half a second
// to schedule.
int CompletedPasses::store() {
  std::optional<StopScope> goes_on;
  if (num_held_ops() <= kOpsOfHalfASecond) goes_on.emplace(nullptr);
  std::vector<Pass> held = std::exchange(held_, {});
  for (std::size_t i = 0; scheduler_ && i < running_.strategies.size(); ++i) {
    std::vector<HeldPass> passes;
    for (Pass& pass : held)
      for (StrategyRun& run : pass.runs)
        if (run.strategy->position == i) passes.push_back({&run.planned, &run.timed});
    scheduler_->schedule(static_cast<int>(i), passes);
  }
  const StopScope whole(nullptr);  // a layer pass is stored with all its strategies, or not at all
  running_.head.write([&](StoreWriter& head) {
    for (Pass& pass : held)
      for (StrategyRun& run : pass.runs) store_run(head, run, pass.bound_ns);
    if (held.empty()) return;
    if (running_.options.add_to_layer) running_.options.add_to_layer(head);
    head.checkpoint();
  });
  return static_cast<int>(held.size());
}

CompletedPasses::CompletedPasses(RunningJob& running) : running_(running) {
  if (!running.job.executes()) scheduler_.emplace(running.job.cluster);
}

int CompletedPasses::add(const LayerOfJob& where, std::vector<StrategyRun> runs) {
  running_.head.write([&](StoreWriter& head) {
    if (running_.options.masks) store_masks(head, running_.workload, where);
  });
  held_.push_back({std::move(runs), bound_of(running_.job, where.request)});
  const bool ends_step = where.layer == running_.job.layers.back();
  if (scheduler_ && !ends_step && num_held_ops() < kMostHeldOps) return 0;
  const int stored = store();
  if (scheduler_ && ends_step) scheduler_->meet();
  return stored;
}

int CompletedPasses::finish() {
  if (!scheduler_) return 0;
  const StopScope goes_on(nullptr);
  if (running_.interrupted()) {
    std::size_t ops = 0, kept = 0;
    while (kept < held_.size() && (ops += held_[kept].num_ops()) <= kOpsOfHalfASecond) ++kept;
    held_.resize(kept);
  }
  return store();
}

}  // namespace spscope
