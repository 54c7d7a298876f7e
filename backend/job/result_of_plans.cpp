#include "backend/job/result_of_plans.h"

#include <algorithm>

#include "backend/analysis/layer_spread.h"
#include "backend/analysis/run_figures.h"
#include "backend/base/utf8.h"
#include "backend/plan/passes_at_once.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/combine_guidance.h"

namespace spscope {
namespace {

Plan combining_plan(const Job& job) {
  return combine_plan(combine_request(job.model, job.cluster, job.config.run.dtype), job.cluster.guidance);
}

}  // namespace

std::int64_t combining_ns(const Job& job, const ClusterPreset& preset) {
  const Plan plan = combining_plan(job);
  const Network network = Network::of_cluster(preset, plan.ranks, job.cluster.gpus_per_node, job.cluster.ranks);
  return schedule(plan, op_durations(plan, preset.cost), network, host_times(plan, preset.cost).issue_ns).makespan_ns();
}

std::vector<int> rank_map(const Job& job, int ranks) {
  std::vector<int> nodes;
  for (int r = 0; r < ranks; ++r) nodes.push_back(r / std::max(1, job.cluster.gpus_per_node));
  return nodes;
}

StrategyResult describe_strategy(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                 const Decision& decision) {
  StrategyResult result;
  result.id = chosen.id;
  result.name = result.label = chosen.strategy->name;
  result.parameters = chosen.parameters;
  result.pick = chosen.pick;
  result.mode = job.config.run.mode;
  result.device = job.config.run.device;
  result.backend = job.config.run.backend;
  result.rank_map = rank_map(job, request.ranks);
  result.problems = chosen.strategy->legal(request_of_pass(request), chosen.parameters);
  if (!result.legal()) return result;
  number_of_mesh(result, chosen, mesh_of(decision, request));
  return result;
}

std::size_t number_of_mesh(StrategyRecord& record, const ChosenStrategy& chosen, const RankMesh& mesh) {
  std::vector<RankMesh>& meshes = record.meshes;
  const auto number = static_cast<std::size_t>(std::ranges::find(meshes, mesh) - meshes.begin());
  if (number < meshes.size()) return number;
  meshes.push_back(mesh);
  std::vector<Degrees> degrees;
  for (const RankMesh& m : meshes)
    if (std::ranges::find(degrees, Degrees{m.ulysses, m.ring}) == degrees.end()) degrees.push_back({m.ulysses, m.ring});
  record.label = strategy_label(*chosen.strategy, degrees, chosen.parameters);
  return number;
}

void refuse(StrategyResult& result, Problem problem) {
  StrategyResult refused;
  refused.id = result.id;
  refused.name = result.name;
  refused.label = result.label;
  refused.parameters = result.parameters;
  refused.pick = result.pick;
  refused.mode = result.mode;
  refused.device = result.device;
  refused.backend = result.backend;
  refused.rank_map = result.rank_map;
  refused.meshes = std::move(result.meshes);
  refused.problems = {std::move(problem)};
  result = std::move(refused);
}

void add_layer(StrategyResult& result, const ChosenStrategy& chosen, const PlannedLayer& planned, int layer,
               int denoise_step) {
  combine_pass(result, {.bytes_sent = planned.volume.sent,
                        .bytes_sent_intra_node = planned.volume.sent_intra_node,
                        .bytes_sent_inter_node = planned.volume.sent_inter_node,
                        .bytes_received = planned.volume.received,
                        .tiles_by_rank = planned.tiles_by_rank,
                        .memory_peak_bytes = planned.memory_bound_bytes});
  for (const auto& [tensor, bytes] : planned.volume.by_tensor) result.bytes_by_tensor[tensor] += bytes;
  add_memory_need(result.memory_need, planned.memory);
  LayerResult& added = result.by_layer.emplace_back();
  static_cast<RunFigures&>(added) = planned.figures;
  added.layer = layer;
  added.denoise_step = denoise_step;
  added.mesh = static_cast<int>(number_of_mesh(result, chosen, planned.mesh));
  added.decided = planned.decided;
  set_slowest(added, planned.tiles_by_rank);
}

void finish_result(StrategyResult& result) {
  combine_passes(result);
  set_layer_spread(result);
}

Workload describe_workload(const Job& job, const Request& request, const std::string& pattern) {
  Workload workload;
  workload.model = job.model.name;
  workload.pattern = valid_utf8(pattern);  // a file may have any name
  workload.cluster = job.cluster.preset.name;
  workload.tokens = job.model.tokens();
  workload.blocks = request.executed_mask().mask().blocks();
  workload.batch = job.model.samples();
  workload.layers = static_cast<int>(job.layers.size());
  workload.model_layers = job.model.layers;
  workload.denoise_steps = job.config.run.denoise_steps;
  workload.ranks = request.ranks;
  workload.dtype = job.config.run.dtype;
  workload.scope = choice_name(job.config.run.scope);
  workload.text_tokens = job.model.joint_text_tokens;
  workload.heads = job.model.heads;
  workload.head_dim = job.model.head_dim;
  workload.forward_passes = job.model.cfg;
  workload.nodes =
      1 + rank_map(job, request.ranks).back();  // that the ranks of a replica fill, not of the whole cluster
  workload.gpus_per_node = job.cluster.gpus_per_node;
  workload.data_parallel = job.cluster.dp;
  workload.guidance = job.cluster.guidance;
  if (job.cluster.guidance > 1) {
    for (const std::int64_t sent : bytes_sent(combining_plan(job))) workload.combine_bytes += sent;
    workload.combine_ns = combining_ns(job, job.cluster.preset);
  }
  workload.config_toml = valid_utf8(runnable_toml(job.config));
  workload.config_hash = config_hash(job.config);
  workload.cluster_toml = cluster_toml(job.cluster.preset);
  return workload;
}

}  // namespace spscope
