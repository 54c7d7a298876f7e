// What the modelled times of a stored run rest on: the cluster that the file describes, and what of it a run used.
#pragma once

#include <optional>

#include "backend/analysis/time_terms.h"
#include "backend/config/cluster.h"
#include "backend/store/records.h"

namespace spscope {

// The numbers that the file holds of its cluster; a file of another program may hold none that can be read.
std::optional<ClusterPreset> stored_cluster(const WorkloadRecord& workload);

// Whether so many ranks are on one node, or the cluster has a network between nodes: a damaged file may say neither.
bool joins_nodes(const ClusterPreset& cluster, int ranks, int gpus_per_node);  // 0 a node: all of them

// The network of plans of `ranks` ranks of the workload on a cluster.
// REQUIRES: joins_nodes().
Network network_of(const WorkloadRecord& workload, int ranks, const ClusterPreset& cluster);

// The cost profile where compute was modelled, the network where that was, and the nodes of ranks.
TimeModels models_of(const WorkloadRecord& workload, const StrategyRecord& strategy, const RunRecord& run, int ranks,
                     const std::optional<ClusterPreset>& cluster);

}  // namespace spscope
