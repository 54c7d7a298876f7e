#include "backend/config/parallel_settings.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

Cluster cluster_of(int nodes, int gpus_per_node) {
  Cluster cluster;
  cluster.ranks = nodes * gpus_per_node;
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus_per_node;
  return cluster;
}

Model model_of(int passes) {
  Model model;
  model.cfg = passes;
  return model;
}

// All that resolve_cluster() accepts, and nothing else.
TEST(ParallelSettings, AreThoseThatAConfigMayHave) {
  for (const int nodes : {1, 2, 3, 4})
    for (const int passes : {1, 2, 3, 4}) {
      std::vector<ParallelSetting> accepted;
      const int ranks = 8 * nodes;
      for (int dp = 1; dp <= ranks; ++dp)
        for (int guidance = 1; guidance <= 4; ++guidance) {
          RunConfig config;
          config.cluster.preset = "ndr-h100-xN";
          config.cluster.nodes = nodes, config.cluster.dp = dp, config.cluster.guidance = guidance;
          std::vector<Problem> problems;
          const Cluster cluster = resolve_cluster(config, problems);
          if (problems.empty()) check_guidance(model_of(passes), cluster, problems);
          if (problems.empty()) accepted.push_back({dp, guidance});
        }
      EXPECT_EQ(parallel_settings(model_of(passes), cluster_of(nodes, 8)), accepted) << nodes << " " << passes;
    }
}

}  // namespace
}  // namespace spscope
