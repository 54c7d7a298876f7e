#include "backend/job/prepare_pass.h"

#include <iterator>
#include <span>

#include "backend/job/dump.h"
#include "backend/job/plan_size.h"
#include "backend/job/result_of_plans.h"

namespace spscope {
namespace {

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

// References of every pass; none where outputs are not checked; nothing once it was interrupted.
std::optional<std::vector<std::shared_ptr<const Reference>>> references_of(RunningJob& running, const LayerOfJob& where,
                                                                           const ActivationSource& activations,
                                                                           std::span<const Activations> passes) {
  const RunSection& section = running.job.config.run;
  std::vector<std::shared_ptr<const Reference>> references;
  if (!running.job.checks_outputs() || !running.head.is_here()) return references;
  running.progress.say("reference");
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    const InputKey key = activations.key(where.denoise_step, where.layer, static_cast<int>(pass));
    references.push_back(running.references.of(where.request, passes[pass], key, section, running.options.interrupt));
    if (references.back() == nullptr) return std::nullopt;
  }
  return references;
}

}  // namespace

void begin_workload(RunningJob& running, const MaskSource& masks, const LayerOfJob& first) {
  const Job& job = running.job;
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    running.progress.say_planning(job, static_cast<int>(i));
    StrategyRecord record = describe_strategy(job, job.strategies[i], first.request, first.decisions[i].decision);
    running.strategies.push_back({&job.strategies[i], i, {}, record.legal(), std::move(record)});
  }
  running.head.write([&](StoreWriter& head) {
    running.workload = head.add_workload(describe_workload(job, first.request, masks.title()));
    for (StoredStrategy& strategy : running.strategies) {
      strategy.record.workload_id = running.workload;
      strategy.id = head.add_strategy(strategy.record);
    }
  });
  note_planning(running, first);
}

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

}  // namespace spscope
