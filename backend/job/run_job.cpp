#include "backend/job/run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/execute/agree.h"
#include "backend/job/dump.h"
#include "backend/job/job_layers.h"
#include "backend/job/layer_times.h"
#include "backend/job/machine.h"
#include "backend/job/progress_count.h"
#include "backend/job/result_of_plans.h"
#include "backend/job/run_size.h"
#include "backend/schedule/bound.h"

namespace spscope {
namespace {

// A strategy of the job with the row it has in the store; illegal ones are stored and not run.
struct StoredStrategy {
  const ChosenStrategy* chosen;
  std::size_t position;  // in Job::strategies
  StrategyId id;
  bool legal;
  StrategyRecord record;  // whose meshes and label grow while layers are planned
};

struct RunLayer {
  const StoredStrategy* strategy;
  PlannedLayer planned;
  TimedLayer timed;
  RunId id;
  bool recorded;  // every event of its repeats is in a shard of ranks
};

// What no strategy can beat: proven from the cost model that the times come from, so there is none for measured times.
std::optional<std::int64_t> bound_of(const Job& job, const Request& request) {
  if (job.config.run.mode != RunMode::kSimulate) return std::nullopt;
  return makespan_bound_ns(request, make_plan(*find_strategy("single"), request, {}), job.cluster.preset.cost);
}

// What is known of a run before it runs.
RunRecord begun_run(const LayerOfJob& where, const StoredStrategy& strategy, const PlannedLayer& planned) {
  RunRecord record;
  record.strategy_id = strategy.id;
  record.layer = where.layer;
  record.denoise_step = where.denoise_step;
  record.planning_ns = planned.planning_ns;
  record.density = where.request.executed_mask().mask().density();
  record.tiles = planned.tiles.computed;
  record.tiles_redundant = planned.tiles.redundant;
  record.moved_fraction = planned.moved_fraction;
  record.parameter_bytes = planned.parameter_bytes;
  record.planned_imbalance_ratio = planned.planned_imbalance_ratio;
  record.decided = planned.decided;
  return record;
}

void store_run(StoreWriter& head, const LayerOfJob& where, const RunLayer& run, std::optional<std::int64_t> bound) {
  RunRecord record = begun_run(where, *run.strategy, run.planned);
  record.plan_id = head.add_plan(run.planned.plan);
  record.provenance = run.timed.provenance;
  record.bound_ns = bound;
  record.verdict = run.timed.verdict;
  record.max_error = run.timed.max_error;
  record.error_metric = run.timed.error_metric;
  head.finish_run(run.id, record);
  head.add_usage(run.id, run.timed.usage);
  head.add_traffic(run.id, traffic_of(run.planned.plan, where.request));
  const bool modelled = run.timed.provenance.network == Source::kModelled;
  for (std::size_t i = 0; i < run.timed.timelines.size(); ++i) {
    RepeatRecord repeat;
    repeat.repeat = static_cast<int>(i);
    repeat.makespan_ns = run.timed.timelines[i].makespan_ns();
    repeat.has_timeline = run.recorded;
    if (modelled)
      head.add_repeat(run.id, repeat, run.planned.plan, run.timed.timelines[i], run.timed.provenance);
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

// The strategies of the job with their rows in the store. Shapes do not change between layers, so the first one decides
// what is legal.
std::vector<StoredStrategy> store_strategies(const Job& job, StoreWriter* head, const LayerOfJob& where,
                                             WorkloadId workload, ProgressCount& progress) {
  std::vector<StoredStrategy> stored;
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    progress.say_planning(job, static_cast<int>(i));
    const Decision& decision = where.decisions[i].decision;
    StrategyRecord record = describe_strategy(job, job.strategies[i], where.request, decision);
    record.workload_id = workload;
    const StrategyId id = head != nullptr ? head->add_strategy(record) : StrategyId{};
    stored.push_back({&job.strategies[i], i, id, record.legal(), std::move(record)});
  }
  return stored;
}

// What the layers of one job share while it runs.
struct RunningJob {
  const Job& job;
  const RunTarget& target;
  const RunOptions& options;
  ProgressCount progress;
  std::vector<StoredStrategy> strategies;
  std::int64_t runs = 0;  // begun
  WorkloadId workload = {};

  bool noted = false;
  std::set<std::size_t> sized = {};     // strategies whose plan was counted
  std::set<std::size_t> unjudged = {};  // strategies with outputs that could not be checked
  double events = 0;                    // that these still make in all layers
  std::set<LayerBlock> dumped = {};     // blocks whose parameters are in the folder of --dump

  // All processes of a run leave at the same place: each of them asks.
  bool interrupted() const {
    const bool here = options.interrupt && options.interrupt->load();
    return options.world != nullptr ? options.world->any(here) : here;
  }
  // What one process does and the others must know the end of: its Error is thrown in all of them.
  void together(const std::function<void()>& step) const {
    if (options.world == nullptr) return step();
    throw_agreed(*options.world, failure_of(step));
  }
  // Whether every event of the last plan is in a shard, in those of all processes.
  bool recorded() const {
    const bool here = target.recorder != nullptr && target.recorder->complete();
    return options.world != nullptr ? !options.world->any(!here) : here;
  }
  void note(const std::string& text) const {
    if (!text.empty() && options.on_note) options.on_note(text);
  }
  // The strategy has no plan for a layer, which every process finds by itself: it ends here, and the others go on.
  void refuse(StoredStrategy& strategy, const Error& error) {
    strategy.legal = false;
    together([&] {
      if (target.head != nullptr) target.head->refuse_strategy(strategy.id, refusal(*strategy.chosen, error));
    });
    note(fmt::format("{} is left out: {}", strategy.record.label, error.what()));
  }
  // The number of a layer pass's mesh, which is stored with the first pass that has it.
  std::size_t mesh_of(StoredStrategy& strategy, const RankMesh& mesh) {
    const std::size_t known = strategy.record.meshes.size();
    const std::size_t number = number_of_mesh(strategy.record, *strategy.chosen, mesh);
    if (number == known)
      together([&] {
        if (target.head != nullptr) target.head->add_mesh(strategy.id, number, mesh, strategy.record.label);
      });
    return number;
  }
  // The run of a plan that is about to be timed. When it is executed, a reader of the shards knows it from now on.
  RunId begin_run(const LayerOfJob& where, const StoredStrategy& strategy, std::size_t mesh,
                  const PlannedLayer& planned) {
    RunId id{++runs};
    together([&] {
      if (target.head == nullptr) return;
      RunRecord record = begun_run(where, strategy, planned);
      record.mesh = static_cast<int>(mesh);
      record.plan_id = target.head->add_plan(planned.plan);
      id = target.head->begin_run(record);
      if (target.recorder != nullptr) target.head->checkpoint();
    });
    if (target.recorder != nullptr) target.recorder->prepare(id, planned.plan);
    return id;
  }
  // From the first plan of each strategy.
  void note_size(const StoredStrategy& strategy, const Plan& plan) {
    const RunSection& run = job.config.run;
    if (run.mode == RunMode::kExecute && sized.insert(strategy.position).second) {
      constexpr double kMost = 1e16;  // whatever a config asks for
      const std::vector<int>& ranks = options.size_of_ranks;
      const auto ops = std::ranges::count_if(
          plan.ops, [&](const Op& op) { return ranks.empty() || std::ranges::binary_search(ranks, op.rank); });
      const double of_layer = static_cast<double>(ops) * run.repeats;
      events += std::min(kMost, of_layer * run.layers * run.denoise_steps);
      together([&] {
        if (options.on_size) options.on_size(static_cast<std::int64_t>(events));
      });
      events = std::max(0.0, events - of_layer);  // it runs now
    }
    if (noted) return;
    noted = true;
    note(compute_note(job, plan, static_cast<int>(std::ranges::count_if(strategies, &StoredStrategy::legal))));
  }
};

// One strategy in one layer: its plan, its times, and what its outputs are worth. Nothing when it was interrupted, or
// when its plan is refused: then it is not legal any more.
std::optional<RunLayer> run_strategy(RunningJob& running, const LayerOfJob& where, StoredStrategy& strategy,
                                     const Activations& input, const Reference* reference) {
  const Job& job = running.job;
  const RunOptions& options = running.options;
  const std::string& id = strategy.chosen->id;
  const auto say = [&](const char* phase) {
    running.progress.say(phase, static_cast<int>(strategy.position), id, strategy.record.label);
  };
  say("plan");
  Result<PlannedLayer> planned = try_plan_layer(*strategy.chosen, where.request, where.decisions[strategy.position]);
  if (!planned) {
    running.refuse(strategy, planned.error());
    return std::nullopt;
  }
  RunLayer run{&strategy, std::move(*planned), {}, {}, false};
  running.note_size(strategy, run.planned.plan);
  const std::size_t mesh = running.mesh_of(strategy, run.planned.mesh);
  run.id = running.begin_run(where, strategy, mesh, run.planned);

  say("run");
  const TimingContext timing{
      job,
      Network::from_profile(job.cluster.preset.network, where.request.ranks, job.cluster.gpus_per_node),
      reference,
      running.target.recorder,
      options.world,
      options.interrupt,
      [&](int done, int total) { running.progress.say_passes(done, total); },
      [&] { say("check"); }};
  Result<TimedLayer> timed = capture([&] { return time_layer(timing, run.planned, where.request, input); });
  if (!timed && timed.error().code() == ErrorCode::kInterrupted) return std::nullopt;
  if (!timed) throw timed.error();
  run.timed = std::move(*timed);
  if (run.timed.verdict == Verdict::kFailed)
    running.progress.set_cause(fmt::format("the outputs of {} are wrong", strategy.record.label));
  if (run.timed.num_unjudged > 0 && running.unjudged.insert(strategy.position).second)
    running.note(fmt::format(
        "{} rows of the output of {} are not checked: their scores are too large for fp32 (docs/metrics.md, Check)",
        run.timed.num_unjudged, strategy.record.label));
  run.recorded = running.recorded();

  if (!options.dump.empty()) dump_outputs(options.dump, job, where, id, run.timed.outputs);
  run.timed.outputs.clear();  // a large model's are gigabytes
  return run;
}

// One layer under every legal strategy; nothing when it was interrupted.
std::optional<std::vector<RunLayer>> run_layer(RunningJob& running, const LayerOfJob& where, const Activations& input) {
  const RunSection& section = running.job.config.run;
  std::optional<Reference> reference;
  const bool has_outputs = running.options.world == nullptr || running.options.world->rank() == 0;
  if (section.mode == RunMode::kExecute && section.verify != VerifyExtent::kOff && has_outputs) {
    running.progress.say("reference");
    reference.emplace(where.request, input, section.verify, section.seed, running.options.interrupt);
  }
  std::vector<RunLayer> runs;
  for (StoredStrategy& strategy : running.strategies) {
    if (running.interrupted()) return std::nullopt;
    if (strategy.legal) {
      std::optional<RunLayer> run = run_strategy(running, where, strategy, input, reference ? &*reference : nullptr);
      if (!run && strategy.legal) return std::nullopt;
      if (run) runs.push_back(std::move(*run));
    }
    running.progress.end_plan(static_cast<int>(strategy.position), strategy.legal);
  }
  return runs;
}

void begin_workload(RunningJob& running, const MaskSource& masks, const LayerOfJob& where) {
  StoreWriter* const head = running.target.head;
  if (head != nullptr)
    running.workload = head->add_workload(describe_workload(running.job, where.request, masks.title()));
  running.strategies = store_strategies(running.job, head, where, running.workload, running.progress);
}

void finish_layer(RunningJob& running, const LayerOfJob& where, const std::vector<RunLayer>& runs) {
  StoreWriter& head = *running.target.head;
  store_masks(head, running.workload, where);
  const std::optional<std::int64_t> bound = bound_of(running.job, where.request);
  for (const RunLayer& run : runs) store_run(head, where, run, bound);
  if (running.options.add_to_layer) running.options.add_to_layer(head);
  head.checkpoint();
}

// One layer of one denoise step, from its inputs to its rows in the head. False: it was interrupted and is left out.
bool run_layer_pass(RunningJob& running, const ActivationSource& activations, const LayerOfJob& where) {
  const RunOptions& options = running.options;
  running.progress.begin_layer(where.denoise_step, where.layer);
  // A simulation computes nothing, and the inputs of a large model are gigabytes.
  const bool needs_input = running.job.config.run.mode != RunMode::kSimulate || !options.dump.empty();
  const Activations input =
      needs_input ? activations.at(where.request, where.denoise_step, where.layer, options.interrupt) : Activations();
  if (running.interrupted()) return false;
  if (!options.dump.empty()) {
    dump_inputs(options.dump, running.job, where, input);
    if (input.parameters && running.dumped.insert(where.request.block).second)
      dump_parameters(options.dump, where.request, *input.parameters);
  }

  const std::optional<std::vector<RunLayer>> runs = run_layer(running, where, input);
  if (!runs) return false;
  running.together([&] {
    if (running.target.head != nullptr) finish_layer(running, where, *runs);
  });
  return true;
}

// What times depend on beside the job.
std::vector<MachineFact> facts_of_times(const RankWorld* world) {
  std::vector<MachineFact> facts = machine_facts();
  const std::string polling = world != nullptr ? world->polling_for_messages() : "";
  if (!polling.empty()) facts.push_back({"messages between nodes", polling});
  return facts;
}

}  // namespace

RunOutcome run_job(const Job& job, const RunTarget& target, const RunOptions& options) {
  // What the layers run on. Throws when files of the config do not fit the model.
  const ActivationSource activations(job);
  const MaskSource masks(job, activations);

  RunningJob running{job, target, options, ProgressCount(options.on_progress, job, options.shards), {}};
  running.note(crowding_note(job));
  if (target.head != nullptr) target.head->add_machine(facts_of_times(options.world));

  // Layer by layer: masks and decisions of all strategies, then plan, times and check of each.
  RunOutcome outcome{0, job.config.run.layers * job.config.run.denoise_steps, {}};
  const LayerStages stages{[&](int denoise_step, int layer) { running.progress.say_masks(denoise_step, layer); },
                           [&](int strategy) { running.progress.say_planning(job, strategy); }};
  const auto run_pass = [&](const LayerOfJob& where) {
    if (running.strategies.empty()) begin_workload(running, masks, where);
    if (!run_layer_pass(running, activations, where)) return false;
    ++outcome.layer_passes_done;
    return true;
  };
  for_each_layer(job, masks, run_pass, stages, options.world == nullptr ? options.interrupt : nullptr);

  running.progress.say("merge");
  outcome.progress = running.progress.now();
  outcome.progress.phase = "done";
  return outcome;
}

}  // namespace spscope
