#include "backend/job/running_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/job/result_of_plans.h"
#include "backend/job/run_size.h"

namespace spscope {
namespace {

// What is known of a run before it runs.
RunRecord begun_record(const LayerOfJob& where, const StoredStrategy& strategy, const PlannedLayer& planned) {
  RunRecord record;
  record.strategy_id = strategy.id;
  record.layer = where.layer;
  record.denoise_step = where.denoise_step;
  record.decided = planned.decided;
  return record;
}

}  // namespace

RunningJob::RunningJob(const Job& of, const RunTarget& target, const RunOptions& with)
    : job(of),
      options(with),
      recorder(target.recorder),
      head(target.head, with.world),
      progress(with.on_progress, of, with.shards) {}

bool RunningJob::interrupted() const {
  const bool here = options.interrupt && options.interrupt->load();
  return options.world != nullptr ? options.world->any(here) : here;
}

bool RunningJob::recorded() const {
  const bool here = recorder != nullptr && recorder->complete();
  return options.world != nullptr ? !options.world->any(!here) : here;
}

void RunningJob::refuse(StoredStrategy& strategy, const Error& error) {
  strategy.legal = false;
  head.write([&](StoreWriter& to) { to.refuse_strategy(strategy.id, refusal(*strategy.chosen, error)); });
  note(fmt::format("{} is left out: {}", strategy.record.label, error.what()));
}

std::size_t RunningJob::mesh_of(StoredStrategy& strategy, const RankMesh& mesh) {
  const std::size_t known = strategy.record.meshes.size();
  const std::size_t number = number_of_mesh(strategy.record, *strategy.chosen, mesh);
  if (number == known)
    head.write([&](StoreWriter& to) { to.add_mesh(strategy.id, number, mesh, strategy.record.label); });
  return number;
}

StrategyRun RunningJob::begin_run(const LayerOfJob& where, StoredStrategy& strategy, PlannedLayer planned) {
  note_size(strategy, planned.plan);
  StrategyRun run{&strategy, std::move(planned)};
  run.id = RunId{++begun_};
  run.record = begun_record(where, strategy, run.planned);
  run.record.mesh = static_cast<int>(mesh_of(strategy, run.planned.mesh));
  head.write([&](StoreWriter& to) {
    run.record.plan_id = to.add_plan(run.planned.plan);
    run.id = to.begin_run(run.record);
    if (recorder != nullptr) to.checkpoint();
    run.traffic = traffic_of(run.planned.plan, where.request);
  });
  if (recorder != nullptr) recorder->prepare(run.id, run.planned.plan);
  return run;
}

void RunningJob::note_size(const StoredStrategy& strategy, const Plan& plan) {
  const RunSection& run = job.config.run;
  if (run.mode == RunMode::kExecute && sized_.insert(strategy.position).second) {
    constexpr double kMost = 1e16;  // whatever a config asks for
    const std::vector<int>& ranks = options.size_of_ranks;
    const auto ops = std::ranges::count_if(
        plan.ops, [&](const Op& op) { return ranks.empty() || std::ranges::binary_search(ranks, op.rank); });
    // Collectors of other processes do the same.
    const int of_op = recorder != nullptr ? recorder->least_events_of_op() : 1;
    const double of_layer = static_cast<double>(ops) * of_op * run.repeats;
    events_ += std::min(kMost, of_layer * static_cast<double>(job.layers.size()) * run.denoise_steps);
    head.together([&] {
      if (options.on_size) options.on_size(static_cast<std::int64_t>(events_));
    });
    events_ = std::max(0.0, events_ - of_layer);  // it runs now
  }
  if (noted_) return;
  noted_ = true;
  note(compute_note(job, plan, static_cast<int>(std::ranges::count_if(strategies, &StoredStrategy::legal))));
}

}  // namespace spscope
