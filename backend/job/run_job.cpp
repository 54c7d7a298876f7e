#include "backend/job/run_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/base/stop_point.h"
#include "backend/execute/agree.h"
#include "backend/execute/cuda_rows.h"
#include "backend/job/combine_passes.h"
#include "backend/job/dump.h"
#include "backend/job/fitting_plan.h"
#include "backend/job/job_layers.h"
#include "backend/job/layer_times.h"
#include "backend/job/machine.h"
#include "backend/job/pick_settings.h"
#include "backend/job/plan_size.h"
#include "backend/job/progress_count.h"
#include "backend/job/reference_cache.h"
#include "backend/job/result_of_plans.h"
#include "backend/job/run_size.h"
#include "backend/job/scheduled_layers.h"
#include "backend/job/weight_gather.h"
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
  RunRecord record = {};
  std::vector<Traffic> traffic = {};
};

// The strategies' runs of one layer pass that is complete.
struct RunPass {
  std::vector<RunLayer> runs;
  std::optional<std::int64_t> bound_ns;
};

// Operations of plans that wait to be scheduled together: some 500 MB of them.
constexpr std::size_t kMostHeldOps = std::size_t{1} << 21;
constexpr std::size_t kOpsOfHalfASecond = std::size_t{1} << 18;  // so many are scheduled in it

// What no strategy can beat: proven from the cost model that the times come from, so there is none for measured times.
std::optional<std::int64_t> bound_of(const Job& job, const Request& request) {
  if (job.config.run.mode != RunMode::kSimulate) return std::nullopt;
  return makespan_bound_ns(request, make_plan(*find_strategy("single"), request, {}), job.cluster.preset.cost);
}

// What a layer pass runs on: by turn, the inputs of the guidance passes that run at once, and what their outputs must
// be (none: they are not checked).
struct LayerInputs {
  std::vector<Activations> turns;
  std::vector<std::vector<std::shared_ptr<const Reference>>> references;
};

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

void store_run(StoreWriter& head, RunLayer& run, std::optional<std::int64_t> bound) {
  RunRecord& record = run.record;
  record.plan_id = head.add_plan(run.planned.plan);
  record.provenance = run.timed.provenance;
  record.bound_ns = bound;
  record.makespan_low_ns = run.timed.makespan_low_ns;
  record.makespan_high_ns = run.timed.makespan_high_ns;
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

  ReferenceCache references = {};
  bool noted = false;
  std::set<std::size_t> sized = {};                        // strategies whose plan was counted
  std::set<std::size_t> unjudged = {};                     // strategies with outputs that could not be checked
  double events = 0;                                       // that these still make in all layers
  std::set<LayerBlock> dumped = {};                        // blocks whose parameters are in the folder of --dump
  std::vector<RunPass> held = {};                          // complete, and stored by store_held()
  std::optional<LayerScheduler> scheduler = std::nullopt;  // where the network is scheduled

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
  // Where the outputs of all ranks come together.
  bool has_outputs() const { return options.world == nullptr || options.world->rank() == 0; }
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
      // Collectors of other processes do the same.
      const int of_op = target.recorder != nullptr ? target.recorder->least_events_of_op() : 1;
      const double of_layer = static_cast<double>(ops) * of_op * run.repeats;
      events += std::min(kMost, of_layer * static_cast<double>(job.layers.size()) * run.denoise_steps);
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
  if (running.has_outputs()) predictions = predictions_of(timed.outputs, job.model, where.request);
  CombinedPasses combined = combine_passes(timing, std::move(predictions));
  if (combined.check) add_check(timed, *combined.check);
  std::int64_t bytes = 0;
  for (const std::int64_t sent : combined.bytes_sent) bytes += sent;
  running.note(fmt::format("{}: {} guidance passes combined, {} bytes between ranks in {:.3f} ms",
                           strategy.record.label, job.model.cfg, bytes,
                           static_cast<double>(combined.makespan_ns) * 1e-6));
  if (!running.options.dump.empty() && !combined.guided.empty())
    dump_guided(running.options.dump, job, where, strategy.chosen->id, combined.guided);
}

// One strategy in one layer: its plan, its times, and what its outputs are worth. Nothing when it was interrupted, or
// when its plan is refused: then it is not legal any more.
std::optional<RunLayer> run_strategy(RunningJob& running, const LayerOfJob& where, StoredStrategy& strategy,
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
  RunLayer run{&strategy, std::move(*planned), {}, {}, false};
  running.note_size(strategy, run.planned.plan);
  const std::size_t mesh = running.mesh_of(strategy, run.planned.mesh);
  run.id = running.begin_run(where, strategy, mesh, run.planned);
  run.record = begun_run(where, strategy, run.planned);
  if (running.target.head != nullptr) run.traffic = traffic_of(run.planned.plan, where.request);

  say("run");
  const TimingContext timing{job,
                             inputs.references.front(),
                             running.target.recorder,
                             options.world,
                             options.interrupt,
                             [&](int done, int total) { running.progress.say_passes(done, total); },
                             [&] { say("check"); }};
  Result<TimedLayer> timed =
      capture([&] { return time_layer(timing, run.planned, where.request, inputs.turns.front()); });
  if (timed) {
    const std::optional<Error> failure =
        failure_of([&] { run_other_passes(running, where, strategy, run.planned, inputs, timing, *timed); });
    if (failure) timed = *failure;
  }
  if (!timed && timed.error().code() == ErrorCode::kInterrupted) return std::nullopt;
  if (!timed) throw timed.error();
  run.timed = std::move(*timed);
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

// References of every pass; none where outputs are not checked; nothing once it was interrupted.
std::optional<std::vector<std::shared_ptr<const Reference>>> references_of(RunningJob& running, const LayerOfJob& where,
                                                                           const ActivationSource& activations,
                                                                           std::span<const Activations> passes) {
  const RunSection& section = running.job.config.run;
  std::vector<std::shared_ptr<const Reference>> references;
  if (!running.job.checks_outputs() || !running.has_outputs()) return references;
  running.progress.say("reference");
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    const InputKey key = activations.key(where.denoise_step, where.layer, static_cast<int>(pass));
    references.push_back(running.references.of(where.request, passes[pass], key, section, running.options.interrupt));
    if (references.back() == nullptr) return std::nullopt;
  }
  return references;
}

// What a layer runs on, by turn. Nothing when it was interrupted.
std::optional<LayerInputs> inputs_of(RunningJob& running, const ActivationSource& activations,
                                     const LayerOfJob& where) {
  const RunOptions& options = running.options;
  const Job& job = running.job;
  const int at_once = job.passes_at_once(), all = at_once * job.passes_in_turn();
  // A simulation computes nothing, and the inputs of a large model are gigabytes.
  const bool needs_input = job.config.run.mode != RunMode::kSimulate || !options.dump.empty();
  std::vector<Activations> passes(static_cast<std::size_t>(all));
  for (int pass = 0; needs_input && pass < all; ++pass) {
    Activations& input = passes[static_cast<std::size_t>(pass)];
    input = activations.at(where.request, where.denoise_step, where.layer, options.interrupt, pass);
  }
  if (running.interrupted()) return std::nullopt;
  if (!options.dump.empty()) {
    for (int pass = 0; pass < all; ++pass)
      dump_inputs(options.dump, job, where, passes[static_cast<std::size_t>(pass)], pass);
    if (passes.front().parameters && running.dumped.insert(where.request.block).second)
      dump_parameters(options.dump, where.request, *passes.front().parameters);
  }
  const auto references = references_of(running, where, activations, passes);
  if (!references) return std::nullopt;
  LayerInputs inputs;
  for (int first = 0; first < all; first += at_once) {
    const auto here = passes.begin() + first;
    inputs.turns.push_back(
        activations_at_once({std::make_move_iterator(here), std::make_move_iterator(here + at_once)}));
    inputs.references.emplace_back();
    if (!references->empty())
      inputs.references.back().assign(references->begin() + first, references->begin() + first + at_once);
  }
  return inputs;
}

// One layer under every legal strategy; nothing when it was interrupted.
std::optional<std::vector<RunLayer>> run_layer(RunningJob& running, const LayerOfJob& where,
                                               const LayerInputs& inputs) {
  std::vector<RunLayer> runs;
  for (StoredStrategy& strategy : running.strategies) {
    if (running.interrupted()) return std::nullopt;
    if (strategy.legal) {
      std::optional<RunLayer> run = run_strategy(running, where, strategy, inputs);
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

// From the decisions of the first layer.
void note_planning(const RunningJob& running, const LayerOfJob& where) {
  double seconds = 0;
  for (const StoredStrategy& strategy : running.strategies)
    if (strategy.legal) seconds += plan_size(where.decisions[strategy.position].decision, where.request).seconds;
  const RunSection& run = running.job.config.run;
  const double passes = static_cast<double>(running.job.layers.size()) * run.denoise_steps;
  if (run.mode != RunMode::kExecute)
    running.note(planning_note("planning and scheduling", where.request.ranks, seconds * passes));
}

std::size_t num_ops(const RunPass& pass) {
  std::size_t ops = 0;
  for (const RunLayer& run : pass.runs) ops += run.planned.plan.ops.size();
  return ops;
}

std::size_t num_held_ops(const RunningJob& running) {
  std::size_t ops = 0;
  for (const RunPass& pass : running.held) ops += num_ops(pass);
  return ops;
}

// Schedules and stores what is held, and makes it durable. Returns how many layer passes that were. An interrupt gives
// up what takes longer than half a second to schedule.
int store_held(RunningJob& running) {
  std::optional<StopScope> goes_on;
  if (num_held_ops(running) <= kOpsOfHalfASecond) goes_on.emplace(nullptr);
  std::vector<RunPass> held = std::exchange(running.held, {});
  if (running.scheduler)
    for (std::size_t i = 0; i < running.strategies.size(); ++i) {
      std::vector<HeldPass> passes;
      for (RunPass& pass : held)
        for (RunLayer& run : pass.runs)
          if (run.strategy->position == running.strategies[i].position) passes.push_back({&run.planned, &run.timed});
      running.scheduler->schedule(static_cast<int>(i), passes);
    }
  const StopScope whole(nullptr);  // a layer pass is stored with all its strategies, or not at all
  running.together([&] {
    if (running.target.head == nullptr) return;
    StoreWriter& head = *running.target.head;
    for (RunPass& pass : held)
      for (RunLayer& run : pass.runs) store_run(head, run, pass.bound_ns);
    if (held.empty()) return;
    if (running.options.add_to_layer) running.options.add_to_layer(head);
    head.checkpoint();
  });
  return static_cast<int>(held.size());
}

// What is held when no more layer passes come. After an interrupt as much of it as is scheduled within half a second.
int store_what_is_left(RunningJob& running) {
  const StopScope goes_on(nullptr);
  if (running.interrupted()) {
    std::size_t ops = 0, kept = 0;
    while (kept < running.held.size() && (ops += num_ops(running.held[kept])) <= kOpsOfHalfASecond) ++kept;
    running.held.resize(kept);
  }
  return store_held(running);
}

// Holds a layer pass that every strategy has done. Returns how many are stored now: one, where nothing is scheduled.
int finish_layer(RunningJob& running, const LayerOfJob& where, std::vector<RunLayer> runs) {
  running.together([&] {
    if (running.target.head != nullptr && running.options.masks)
      store_masks(*running.target.head, running.workload, where);
  });
  running.held.push_back({std::move(runs), bound_of(running.job, where.request)});
  const bool ends_step = where.layer == running.job.layers.back();
  if (running.scheduler && !ends_step && num_held_ops(running) < kMostHeldOps) return 0;
  const int stored = store_held(running);
  if (running.scheduler && ends_step) running.scheduler->meet();
  return stored;
}

// One layer of one denoise step, from its inputs to its rows in the head. Returns how many layer passes are complete
// since the last call; nullopt: this one was interrupted and is left out.
std::optional<int> run_layer_pass(RunningJob& running, const ActivationSource& activations, const MaskSource& masks,
                                  const LayerOfJob& of_pass) {
  running.progress.begin_layer(of_pass.denoise_step, of_pass.layer);
  const int at_once = running.job.passes_at_once();
  std::optional<Request> request;
  if (at_once > 1) request = request_at_once(of_pass.request, at_once);
  const LayerOfJob where{of_pass.denoise_step, of_pass.layer, of_pass.masks, request ? *request : of_pass.request,
                         of_pass.decisions};
  if (running.strategies.empty()) {
    begin_workload(running, masks, where);
    note_planning(running, where);
  }
  const std::optional<LayerInputs> inputs = inputs_of(running, activations, of_pass);
  if (!inputs) return std::nullopt;
  std::optional<std::vector<RunLayer>> runs = run_layer(running, where, *inputs);
  if (!runs) return std::nullopt;
  return finish_layer(running, where, std::move(*runs));
}

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

}  // namespace

RunOutcome run_job(const Job& asked, const RunTarget& target, const RunOptions& options) {
  // Several processes leave together, where each has asked the others.
  const StopScope stops(options.world == nullptr ? options.interrupt : nullptr);
  // What the layers run on. Throws when files of the config do not fit the model.
  const ActivationSource activations(asked);
  MaskSource masks(asked, activations);
  Job job = asked;
  const auto picked = failure_of([&] { job = with_picked_settings(asked, masks, picking(asked, options)); });
  if (picked && picked->code() != ErrorCode::kInterrupted) throw *picked;

  RunningJob running{job, target, options, ProgressCount(options.on_progress, job, options.shards), {}};
  running.note(crowding_note(job));
  running.note(gather_note(job));
  if (target.head != nullptr) target.head->add_machine(facts_of_times(job, options.world));

  // Layer by layer: masks and decisions of all strategies, then plan, times and check of each.
  RunOutcome outcome{0, static_cast<int>(job.layers.size()) * job.config.run.denoise_steps, {}};
  if (job.config.run.mode != RunMode::kExecute) running.scheduler.emplace(job.cluster);
  const LayerStages stages{[&](int denoise_step, int layer) { running.progress.say_masks(denoise_step, layer); },
                           [&](int strategy) { running.progress.say_planning(job, strategy); }};
  const auto run_pass = [&](const LayerOfJob& where) {
    const std::optional<int> done = run_layer_pass(running, activations, masks, where);
    outcome.layer_passes_done += done.value_or(0);
    return done.has_value();
  };
  std::optional<Error> failure = failure_of(
      [&] { for_each_layer(job, masks, run_pass, stages, options.world == nullptr ? options.interrupt : nullptr); });
  if (failure && failure->code() == ErrorCode::kInterrupted) failure.reset();
  if (running.scheduler) outcome.layer_passes_done += store_what_is_left(running);
  if (failure) throw *failure;

  running.progress.say("merge");
  outcome.progress = running.progress.now();
  outcome.progress.phase = "done";
  return outcome;
}

}  // namespace spscope
