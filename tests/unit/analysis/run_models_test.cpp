#include "backend/analysis/run_models.h"

#include <gtest/gtest.h>

#include "backend/config/cluster.h"

namespace spscope {
namespace {

// A file says by itself how many ranks its plans have and what their network is; the two may not fit.
TEST(RunModels, RanksOfSeveralNodesNeedANetworkBetweenThem) {
  const ClusterPreset one_node = *find_cluster_preset("h100x8");  // no NICs
  EXPECT_TRUE(joins_nodes(one_node, 8, 8));
  EXPECT_TRUE(joins_nodes(one_node, 8, 0));
  EXPECT_FALSE(joins_nodes(one_node, 8, 4));
  EXPECT_TRUE(joins_nodes(*find_cluster_preset("ndr-h100-xN"), 16, 8));
  RunRecord run;
  run.provenance.network = Source::kModelled;
  WorkloadRecord workload;
  workload.gpus_per_node = 8;
  EXPECT_TRUE(models_of(workload, {}, run, 8, one_node).network.has_value());
  workload.gpus_per_node = 4;
  EXPECT_FALSE(models_of(workload, {}, run, 8, one_node).network.has_value());
}

}  // namespace
}  // namespace spscope
