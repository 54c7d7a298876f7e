#include "backend/fit/row_model.h"

#include "backend/analysis/whole_model.h"
#include "backend/fit/row_plans.h"
#include "backend/job/fitting_plan.h"
#include "backend/job/result_of_plans.h"
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

}  // namespace

RowModel::RowModel(const TimingRow& row, const std::string& folder, const std::string& cluster)
    : row_(row), job_(job_of(row, folder, cluster)), layered_(layered_of(job_.config)) {
  const RunSection& run = job_.config.run;
  choices_ = {.attention_kernel = run.attention_kernel,
              .implementation = run.implementation,
              .dtype = run.dtype,
              .model = job_.model,
              .gpus = job_.cluster.plan_ranks()};
  add_plans();
}

void RowModel::add_plans() {
  first_single_ = job_.model.layers - job_.model.single_layers;
  for_each_kind_of_layer(job_, [&](const Request& request, const LayerDecision& decision) {
    Result<PlannedLayer> planned = try_plan_fitting(job_, job_.strategies.front(), request, decision);
    if (!planned) throw planned.error();
    plans_.push_back(std::move(planned->plan));
    workload_ = describe_workload(job_, request, job_.config.mask.pattern);
    workload_.model_denoise_steps = job_.model.denoise_steps;
  });
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
