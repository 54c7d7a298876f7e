#include "backend/job/run_strategies.h"

#include <fmt/format.h>

#include <numeric>

#include "backend/base/result.h"
#include "backend/job/combine_passes.h"
#include "backend/job/dump.h"
#include "backend/job/fitting_plan.h"

namespace spscope {
namespace {

// What runs beside the plan that is timed: the same plan on the passes of guidance that follow in turn and, after the
// last layer of a step whose passes all ran, what combines them. Their outputs and checks are added.
void run_other_passes(const RunningJob& running, const LayerOfJob& where, const StoredStrategy& strategy,
                      const PlannedLayer& planned, const LayerInputs& inputs, TimingContext timing, TimedLayer& timed) {
  const Job& job = running.job;
  timing.recorder = nullptr;
  for (std::size_t turn = 1; turn < inputs.turns.size(); ++turn) {
    timing.references = inputs.references[turn];
    TimedLayer more = time_layer(timing, planned, where.request, inputs.turns[turn]);
    if (!timing.references.empty()) add_check(timed, more);
    for (std::vector<OutputTensor>& outputs : more.outputs) timed.outputs.push_back(std::move(outputs));
  }
  if (!job.combines_passes() || where.layer != job.layers.back()) return;
  std::vector<float> predictions;
  if (running.head.is_here()) predictions = predictions_of(timed.outputs, job.model, where.request);
  CombinedPasses combined = combine_passes(timing, std::move(predictions));
  if (combined.check) add_check(timed, *combined.check);
  const auto bytes = std::accumulate(combined.bytes_sent.begin(), combined.bytes_sent.end(), std::int64_t{0});
  running.note(fmt::format("{}: {} guidance passes combined, {} bytes between ranks in {:.3f} ms",
                           strategy.record.label, job.model.cfg, bytes,
                           static_cast<double>(combined.makespan_ns) * 1e-6));
  if (!running.options.dump.empty() && !combined.guided.empty())
    dump_guided(running.options.dump, job, where, strategy.chosen->id, combined.guided);
}

// One strategy in one layer: its plan, its times, and what its outputs are worth. Nothing when it was interrupted, or
// when its plan is refused: then it is not legal any more.
std::optional<StrategyRun> run_strategy(RunningJob& running, const LayerOfJob& where, StoredStrategy& strategy,
                                        const LayerInputs& inputs) {
  const Job& job = running.job;
  const RunOptions& options = running.options;
  const std::string& id = strategy.chosen->id;
  const auto say = [&](const char* phase) {
    running.progress.say(phase, static_cast<int>(strategy.position), id, strategy.record.label);
  };
  say("plan");
  // What this machine cannot hold shows when it runs; the memory of a cluster is known.
  const LayerDecision& decision = where.decisions[strategy.position];
  Result<PlannedLayer> planned = job.config.run.mode == RunMode::kExecute
                                     ? try_plan_layer(*strategy.chosen, where.request, decision)
                                     : try_plan_fitting(job, *strategy.chosen, where.request, decision);
  if (!planned) {
    if (options.world == nullptr && running.interrupted()) return std::nullopt;  // what was tried ended early, too
    running.refuse(strategy, planned.error());
    return std::nullopt;
  }
  StrategyRun run = running.begin_run(where, strategy, std::move(*planned));

  say("run");
  const TimingContext timing{job,
                             inputs.references.front(),
                             running.recorder,
                             options.world,
                             options.interrupt,
                             [&](int done, int total) { running.progress.say_passes(done, total); },
                             [&] { say("check"); }};
  const std::optional<Error> failure = failure_of([&] {
    run.timed = time_layer(timing, run.planned, where.request, inputs.turns.front());
    run_other_passes(running, where, strategy, run.planned, inputs, timing, run.timed);
  });
  if (failure && failure->code() == ErrorCode::kInterrupted) return std::nullopt;
  if (failure) throw *failure;
  if (!run.timed.unchecked.empty())
    running.note(fmt::format("the outputs of {} are not checked: {}", strategy.record.label, run.timed.unchecked));
  if (run.timed.verdict == Verdict::kFailed)
    running.progress.set_cause(fmt::format("the outputs of {} are wrong", strategy.record.label));
  if (run.timed.num_unjudged > 0 && running.unjudged.insert(strategy.position).second)
    running.note(fmt::format(
        "{} rows of the output of {} are not checked: their scores are too large for fp32 (docs/metrics.md, Check)",
        run.timed.num_unjudged, strategy.record.label));
  run.recorded = running.recorded();

  if (!options.dump.empty())
    for (std::size_t pass = 0; pass < run.timed.outputs.size(); ++pass)
      dump_outputs(options.dump, job, where, id, run.timed.outputs[pass], static_cast<int>(pass));
  run.timed.outputs.clear();  // a large model's are gigabytes
  return run;
}

}  // namespace

std::optional<std::vector<StrategyRun>> run_strategies(RunningJob& running, const LayerOfJob& where,
                                                       const LayerInputs& inputs) {
  std::vector<StrategyRun> runs;
  for (StoredStrategy& strategy : running.strategies) {
    if (running.interrupted()) return std::nullopt;
    if (strategy.legal) {
      std::optional<StrategyRun> run = run_strategy(running, where, strategy, inputs);
      if (!run && strategy.legal) return std::nullopt;
      if (run) runs.push_back(std::move(*run));
    }
    running.progress.end_plan(static_cast<int>(strategy.position), strategy.legal);
  }
  return runs;
}

}  // namespace spscope
