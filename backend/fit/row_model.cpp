#include "backend/fit/row_model.h"

#include "backend/analysis/whole_model.h"
#include "backend/job/fitting_plan.h"
#include "backend/job/layer_request.h"
#include "backend/job/result_of_plans.h"
#include "backend/mask/pattern.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/layer_passes.h"

namespace spscope {
namespace {

Job job_of(const TimingRow& row, const std::string& folder, const std::string& cluster) {
  ConfigKeys keys = row_config(row, cluster);
  for (auto& [key, value] : keys)
    if (key == "cluster.profile" && !value.starts_with('/') && cluster.empty()) value = folder + "/" + value;
  return load_job({"", {}, settings_of(keys)});
}

ClusterPreset layered_of(const RunConfig& config) {
  if (config.cluster.profile.empty()) return *find_cluster_preset(config.cluster.preset);
  return *read_profile(input_path(config, config.cluster.profile));
}

SourcedMask dense_mask(const RunConfig& config, int heads, const TokenGrid& grid, int text_tokens) {
  PatternRequest request;
  request.heads = heads;
  request.grid = grid;
  request.text_tokens = text_tokens;
  request.block = config.mask.block;
  return {find_pattern("dense")->generate(request), ""};
}

LayerMasks dense_masks(const Job& job) {
  const Model& model = job.model;
  const auto& [frames, height, width] = model.grid;
  LayerMasks dense;
  if (model.spatiotemporal()) {
    dense.inner = dense_mask(job.config, model.heads, {1, height, width}, 0);
    dense.temporal = dense_mask(job.config, model.heads, {1, 1, frames}, 0);
  } else {
    dense.inner = dense_mask(job.config, model.heads, model.grid, model.joint_text_tokens);
  }
  return dense;
}

}  // namespace

RowModel::RowModel(const TimingRow& row, const std::string& folder, const std::string& cluster)
    : row_(row), job_(job_of(row, folder, cluster)), layered_(layered_of(job_.config)) {
  const RunSection& run = job_.config.run;
  choices_ = {run.attention_kernel, run.implementation, false, run.dtype, job_.model, job_.cluster.plan_ranks()};
  add_plans();
}

void RowModel::add_plans() {
  first_single_ = job_.model.layers - job_.model.single_layers;
  const LayerMasks dense = dense_masks(job_);
  const ChosenStrategy& chosen = job_.strategies.front();
  const auto add = [&](int layer) {
    const Request request = make_layer_request(job_, layer, dense, &dense);
    std::vector<Problem> problems = chosen.strategy->legal(request, chosen.parameters);
    if (!problems.empty()) throw Error(std::move(problems));
    LayerDecision decision;
    decision.decision = chosen.strategy->decide(request, chosen.parameters);
    Result<PlannedLayer> planned = try_plan_fitting(job_, chosen, request, decision);
    if (!planned) throw planned.error();
    plans_.push_back(std::move(planned->plan));
    workload_ = describe_workload(job_, request, job_.config.mask.pattern);
    workload_.model_denoise_steps = job_.model.denoise_steps;
  };
  if (first_single_ > 0) add(0);
  if (job_.model.single_layers > 0) add(first_single_);
}

double RowModel::seconds(const ClusterPreset& cluster) const {
  const Network network =
      Network::of_cluster(cluster, job_.cluster.plan_ranks(), job_.cluster.gpus_per_node, job_.cluster.ranks);
  std::vector<std::vector<std::int64_t>> durations;
  std::vector<HostTimes> hosts;
  for (const Plan& plan : plans_) {
    durations.push_back(op_durations(plan, cluster.cost));
    hosts.push_back(host_times(plan, cluster.cost));
  }
  std::vector<LayerPass> passes;
  for (const int layer : job_.layers) {
    const auto kind = static_cast<std::size_t>(&plan_of(layer) - plans_.data());
    passes.push_back({&plans_[kind], durations[kind], &hosts[kind]});
  }
  const ScheduledPasses scheduled = schedule_passes(passes, network);

  StrategyResult result;
  result.provenance = RunProvenance();
  result.provenance->network = Source::kModelled;
  result.makespan_ns = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    LayerResult& pass = result.by_layer.emplace_back();
    pass.layer = job_.layers[i];
    pass.makespan_ns = scheduled.passes[i].makespan_ns;
  }
  Workload workload = workload_;
  if (workload.guidance > 1) workload.combine_ns = combining_ns(job_, cluster);
  if (row_.scope == TimingScope::kEndToEnd) result.outside_layers_ns = outside_layers_ns(workload, cluster);
  const std::optional<WholeModel> whole = whole_model(result, workload);
  const double seconds = static_cast<double>(whole.value().latency_ns) * 1e-9;
  return row_.scope == TimingScope::kStep ? seconds / job_.model.denoise_steps : seconds;
}

}  // namespace spscope
