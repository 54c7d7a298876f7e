// How the ranks of a cluster divide into replicas and guidance passes, beside sequence parallelism: what a search over
// ways to run a model ranges over.
#pragma once

#include <vector>

#include "backend/config/cluster.h"
#include "backend/config/model.h"

namespace spscope {

// ranks = dp x guidance x ranks of a plan (cluster.dp, cluster.guidance).
struct ParallelSetting {
  int dp = 1, guidance = 1;
  friend bool operator==(const ParallelSetting&, const ParallelSetting&) = default;
};

// Every legal setting for the ranks of the cluster, whatever its own dp and guidance: guidance divides the forward
// passes of a denoise step, and replicas and passes are aligned with nodes. Ascending by dp, then by guidance.
std::vector<ParallelSetting> parallel_settings(const Model& model, const Cluster& cluster);

// Adds a problem when the passes of the model's guidance cannot be run `cluster.guidance` at a time.
void check_guidance(const Model& model, const Cluster& cluster, std::vector<Problem>& problems);

}  // namespace spscope
