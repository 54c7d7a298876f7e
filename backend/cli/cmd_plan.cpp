// `spscope plan`: what each strategy would do. Nothing runs; an illegal strategy is a result.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>

#include "backend/base/shell_word.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/help_format.h"
#include "backend/cli/job_flags.h"
#include "backend/cli/print_plan.h"
#include "backend/cli/progress_printer.h"
#include "backend/exchange/plan_json.h"
#include "backend/job/fitting_plan.h"
#include "backend/job/job_layers.h"
#include "backend/job/machine.h"
#include "backend/job/pick_settings.h"
#include "backend/job/progress_count.h"
#include "backend/job/result_of_plans.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

struct PlanFlags {
  JobFlags job;
  bool ops = false, dot = false;
};

// The plan of a layer; nothing for a strategy that is illegal or whose plan is refused. A refusal is printed.
std::optional<PlannedLayer> planned_or_refused(CommandContext& context, const Job& job, const ChosenStrategy& chosen,
                                               const LayerOfJob& where, const LayerDecision& decision) {
  if (!chosen.strategy->legal(where.request, chosen.parameters).empty()) return std::nullopt;
  Result<PlannedLayer> planned = try_plan_fitting(job, chosen, where.request, decision);
  if (planned) return std::move(*planned);
  context.err << render(planned.error());
  return std::nullopt;
}

// The plans of the first layer, as text.
void print_plans(CommandContext& context, const PlanFlags& flags, const Job& job, const LayerOfJob& where) {
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    const ChosenStrategy& chosen = job.strategies[i];
    const std::optional<PlannedLayer> planned = planned_or_refused(context, job, chosen, where, where.decisions[i]);
    if (!planned) continue;
    if (flags.dot) {
      print_dot(context.out, planned->plan);
      continue;
    }
    context.out << fmt::format("# {}: {} ops, {} messages\n", chosen.id, planned->plan.ops.size(),
                               planned->plan.messages.size());
    print_ops(context.out, planned->plan);
  }
}

// The same as JSON, with the schedule on the cluster.
void print_plans_as_json(CommandContext& context, const Job& job, const LayerOfJob& where) {
  const Network network = Network::of_cluster(job.cluster.preset, where.request.ranks, job.cluster.gpus_per_node,
                                              where.request.ranks_in_use);
  PlanJson json(context.out, kVersion, where.request, job.cluster.preset, network, where.layer, where.denoise_step);
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    const ChosenStrategy& chosen = job.strategies[i];
    const std::optional<PlannedLayer> planned = planned_or_refused(context, job, chosen, where, where.decisions[i]);
    if (!planned) continue;
    const StrategyResult described = describe_strategy(job, chosen, where.request, where.decisions[i].decision);
    json.add(chosen.id, described.label, planned->plan);
  }
  json.end();
}

// Plans one layer under every strategy; for the first layer, also describes each strategy.
void plan_layer_of_job(const Job& job, const LayerOfJob& where, ProgressCount& progress, Comparison& comparison) {
  std::vector<StrategyResult>& results = comparison.strategies;
  const bool is_first = results.empty();
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    const ChosenStrategy& chosen = job.strategies[i];
    const LayerDecision& decision = where.decisions[i];
    progress.say_planning(job, static_cast<int>(i));
    if (is_first) results.push_back(describe_strategy(job, chosen, where.request, decision.decision));
    if (results[i].legal()) {
      if (const Result<PlannedLayer> planned = try_plan_fitting(job, chosen, where.request, decision))
        add_layer(results[i], chosen, *planned, where.layer, where.denoise_step);
      else
        refuse(results[i], refusal(chosen, planned.error()));
    }
    progress.end_plan(static_cast<int>(i), results[i].legal());
  }
}

Comparison plan_all(const Job& job, const MaskSource& masks, ProgressPrinter& printer) {
  ProgressCount progress(std::ref(printer), job, 0);
  Comparison comparison;
  comparison.tool_version = kVersion;
  for (const MachineFact& fact : machine_facts()) comparison.machine.push_back({fact.name, fact.value});
  comparison.config_hash = config_hash(job.config);
  double density = 0;
  int layers = 0;
  const auto plan = [&](const LayerOfJob& where) {
    progress.begin_layer(where.denoise_step, where.layer);
    density += where.request.executed_mask().mask().density();
    ++layers;
    plan_layer_of_job(job, where, progress, comparison);
    comparison.workload = describe_workload(job, where.request, masks.title());
    comparison.workload.density = density / layers;
    return true;
  };
  for_each_layer(job, masks, plan,
                 {[&](int denoise_step, int layer) { progress.say_masks(denoise_step, layer); },
                  [&](int strategy) { progress.say_planning(job, strategy); }});
  for (StrategyResult& result : comparison.strategies) finish_result(result);
  return comparison;
}

// The command that simulates the times of the same plans.
std::string simulate_command(const JobFlags& flags) {
  std::string command = "spscope run";
  if (!flags.config.empty()) command += " " + shell_word(flags.config);
  for (const std::string& strategy : flags.strategies) command += " -s " + shell_word(strategy);
  for (const std::string& setting : flags.settings)
    if (!setting.starts_with("run.mode=")) command += " --set " + shell_word(setting);
  return command + " --set run.mode=simulate";
}

int run_plan(CommandContext& context, const PlanFlags& flags) {
  const Job asked = load_job(flags.job, context.max_memory_bytes);
  const ActivationSource activations(asked);
  MaskSource masks(asked, activations);
  const Job job = with_picked_settings(asked, masks);
  if (flags.ops || flags.dot) {
    for_each_layer(job, masks, [&](const LayerOfJob& where) {
      if (context.json && flags.ops)
        print_plans_as_json(context, job, where);
      else
        print_plans(context, flags, job, where);
      return false;
    });
    return kExitDone;
  }
  ProgressPrinter printer(context, "bar");
  const Comparison comparison = plan_all(job, masks, printer);
  printer.clear();
  const TerminalStyle style = terminal_style(context.color);
  context.out << (context.json ? render_json({&comparison, 1}) : render_terminal(comparison, style));
  if (!context.json && std::ranges::any_of(comparison.strategies, &StrategyResult::legal))
    context.out << fmt::format("Balance and bytes do not say which is fastest. Times by the cost model:\n  {}\n",
                               simulate_command(flags.job));
  return std::ranges::any_of(comparison.strategies, &StrategyResult::failed) ? kExitFailed : kExitDone;
}

}  // namespace

Command declare_plan() {
  auto flags = std::make_shared<PlanFlags>();
  Command command;
  command.flags = job_flags(flags->job);
  command.flags.push_back({.names = "--ops",
                           .help = "print the plans of the first layer, one op a line; with --json in full",
                           .target = &flags->ops});
  command.flags.push_back({.names = "--dot",
                           .help = "print the plans of the first layer as a graph for Graphviz",
                           .target = &flags->dot,
                           .excludes = "--ops"});
  command.action = [flags](CommandContext& context) { return run_plan(context, *flags); };
  return command;
}

}  // namespace spscope
