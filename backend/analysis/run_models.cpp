#include "backend/analysis/run_models.h"

#include <utility>

namespace spscope {

std::optional<ClusterPreset> stored_cluster(const WorkloadRecord& workload) {
  if (workload.cluster_toml.empty()) return std::nullopt;
  Result<ClusterPreset> cluster = parse_cluster(workload.cluster_toml, workload.cluster);
  if (!cluster) return std::nullopt;
  return std::move(*cluster);
}

bool joins_nodes(const ClusterPreset& cluster, int ranks, int gpus_per_node) {
  return gpus_per_node <= 0 || ranks <= gpus_per_node || cluster.network.nic_gbps > 0;
}

Network network_of(const WorkloadRecord& workload, int ranks, const ClusterPreset& cluster) {
  return Network::of_cluster(cluster, ranks, workload.gpus_per_node,
                             ranks * workload.guidance * workload.data_parallel);
}

TimeModels models_of(const WorkloadRecord& workload, const StrategyRecord& strategy, const RunRecord& run, int ranks,
                     const std::optional<ClusterPreset>& cluster) {
  TimeModels models;
  if (strategy.rank_map.size() == static_cast<std::size_t>(ranks)) models.nodes = strategy.rank_map;
  if (cluster && run.provenance.compute == Source::kModelled) models.cost = cluster->cost;
  if (cluster && run.provenance.network == Source::kModelled && joins_nodes(*cluster, ranks, workload.gpus_per_node))
    models.network = network_of(workload, ranks, *cluster);
  return models;
}

}  // namespace spscope
