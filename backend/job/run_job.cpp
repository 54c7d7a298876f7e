#include "backend/job/run_job.h"

#include "backend/base/stop_point.h"
#include "backend/execute/cuda_rows.h"
#include "backend/job/completed_passes.h"
#include "backend/job/machine.h"
#include "backend/job/pick_settings.h"
#include "backend/job/run_size.h"
#include "backend/job/run_strategies.h"
#include "backend/job/weight_gather.h"

namespace spscope {
namespace {

// What times depend on beside the job.
std::vector<MachineFact> facts_of_times(const Job& job, const RankWorld* world) {
  std::vector<MachineFact> facts = machine_facts();
  if (job.config.run.device == "cuda")
    for (DeviceFact& fact : cuda_facts()) facts.push_back({std::move(fact.name), std::move(fact.value)});
  const std::string polling = world != nullptr ? world->polling_for_messages() : "";
  if (!polling.empty()) facts.push_back({"messages between nodes", polling});
  return facts;
}

// Picking settings as a phase of the run.
PickOptions picking(const Job& job, const RunOptions& options) {
  PickOptions pick;
  pick.interrupt = options.interrupt;
  pick.on_note = options.on_note;
  if (!options.on_progress) return pick;
  pick.on_strategy = [&job, &options](std::string_view strategy) {
    RunProgress now;
    now.phase = "pick";
    now.strategy = now.label = strategy;
    now.strategies = static_cast<int>(job.strategies.size());
    now.shards = options.shards;
    options.on_progress(now);
  };
  return pick;
}

// The job with settings for the strategies that `all` stands for. As asked for where that was interrupted.
Job picked_job(const Job& asked, MaskSource& masks, const RunOptions& options) {
  Job job = asked;
  const auto failure = failure_of([&] { job = with_picked_settings(asked, masks, picking(asked, options)); });
  if (failure && failure->code() != ErrorCode::kInterrupted) throw *failure;
  return job;
}

// One layer of one denoise step, from its inputs to its rows in the head. Returns how many layer passes are stored by
// it; nullopt: it was interrupted and is left out.
std::optional<int> run_layer_pass(RunningJob& running, CompletedPasses& completed, const ActivationSource& activations,
                                  const MaskSource& masks, const LayerOfJob& of_pass) {
  running.progress.begin_layer(of_pass.denoise_step, of_pass.layer);
  const int at_once = running.job.passes_at_once();
  std::optional<Request> request;
  if (at_once > 1) request = request_at_once(of_pass.request, at_once);
  const LayerOfJob where{of_pass.denoise_step, of_pass.layer, of_pass.masks, request ? *request : of_pass.request,
                         of_pass.decisions};
  if (running.strategies.empty()) begin_workload(running, masks, where);
  const std::optional<LayerInputs> inputs = inputs_of(running, activations, of_pass);
  if (!inputs) return std::nullopt;
  std::optional<std::vector<StrategyRun>> runs = run_strategies(running, where, *inputs);
  if (!runs) return std::nullopt;
  return completed.add(where, std::move(*runs));
}

}  // namespace

RunOutcome run_job(const Job& asked, const RunTarget& target, const RunOptions& options) {
  // Several processes leave together, where each has asked the others.
  const std::atomic<bool>* const alone = options.world == nullptr ? options.interrupt : nullptr;
  const StopScope stops(alone);

  // Prepare: what the layers run on, and the settings of strategies. Throws when files of the config do not fit the
  // model.
  const ActivationSource activations(asked);
  MaskSource masks(asked, activations);
  const Job job = picked_job(asked, masks, options);
  RunningJob running(job, target, options);
  running.note(crowding_note(job));
  running.note(gather_note(job));
  running.head.write([&](StoreWriter& head) { head.add_machine(facts_of_times(job, options.world)); });

  // Execute or schedule, layer by layer: masks and decisions of all strategies, then plan, times and check of each.
  RunOutcome outcome{0, static_cast<int>(job.layers.size()) * job.config.run.denoise_steps, {}};
  CompletedPasses completed(running);
  const LayerStages stages{[&](int denoise_step, int layer) { running.progress.say_masks(denoise_step, layer); },
                           [&](int strategy) { running.progress.say_planning(job, strategy); }};
  const auto run_pass = [&](const LayerOfJob& where) {
    const std::optional<int> stored = run_layer_pass(running, completed, activations, masks, where);
    outcome.layer_passes_done += stored.value_or(0);
    return stored.has_value();
  };
  const std::optional<Error> failure = failure_of([&] { for_each_layer(job, masks, run_pass, stages, alone); });

  // Conclude: layer passes that are complete are kept, however it ended.
  outcome.layer_passes_done += completed.finish();
  if (failure && failure->code() != ErrorCode::kInterrupted) throw *failure;
  running.progress.say("merge");
  outcome.progress = running.progress.now();
  outcome.progress.phase = "done";
  return outcome;
}

}  // namespace spscope
