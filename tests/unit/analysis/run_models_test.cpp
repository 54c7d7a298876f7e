#include "backend/analysis/run_models.h"

#include <gtest/gtest.h>

#include "backend/config/cluster.h"

namespace spscope {
namespace {

// A file says by itself how many ranks it has and what their network is; the two may not fit.
TEST(StoredCluster, NodesNeedANetworkBetweenThem) {
  WorkloadRecord workload;
  workload.cluster_toml = cluster_toml(*find_cluster_preset("h100x8"));  // one node: no NICs
  workload.ranks = workload.gpus_per_node = 8;
  EXPECT_EQ(stored_cluster(workload), *find_cluster_preset("h100x8"));
  workload.gpus_per_node = 4;
  EXPECT_EQ(stored_cluster(workload), std::nullopt);
  workload.cluster_toml = "link_gbps = ";
  EXPECT_EQ(stored_cluster(workload), std::nullopt);
}

}  // namespace
}  // namespace spscope
