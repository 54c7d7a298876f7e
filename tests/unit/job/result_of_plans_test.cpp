// What a result says of its workload: ranks and nodes of one replica, and texts that are valid UTF-8.
#include "backend/job/result_of_plans.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "backend/base/utf8.h"
#include "backend/job/job_layers.h"

namespace spscope {
namespace {

// The workload and the first strategy's description of the first layer pass.
std::pair<Workload, StrategyResult> described(const std::vector<std::string>& settings, const std::string& title = "") {
  JobFlags flags;
  flags.settings = settings;
  flags.strategies = {"ring"};
  const Job job = load_job(flags);
  const ActivationSource activations(job);
  const MaskSource masks(job, activations);
  std::pair<Workload, StrategyResult> result;
  for_each_layer(job, masks, [&](const LayerOfJob& where) {
    result.first = describe_workload(job, where.request, title.empty() ? masks.title() : title);
    result.second = describe_strategy(job, job.strategies[0], where.request, where.decisions[0].decision);
    return false;
  });
  return result;
}

TEST(DescribedWorkload, CountsRanksAndNodesOfOneReplica) {
  struct Case {
    std::vector<std::string> cluster;
    int ranks, nodes, replicas;
  };
  const Case cases[] = {
      {{"cluster.ranks=16", "cluster.dp=1"}, 16, 2, 1},
      {{"cluster.ranks=16", "cluster.dp=2"}, 8, 1, 2},   // each replica fills a node
      {{"cluster.ranks=16", "cluster.dp=4"}, 4, 1, 4},   // a node holds two
      {{"cluster.ranks=32", "cluster.dp=2"}, 16, 2, 2},  // each fills two nodes
      {{"cluster.ranks=12", "cluster.nodes=2", "cluster.dp=2"}, 6, 1, 2},
  };
  for (const Case& c : cases) {
    std::vector<std::string> settings = c.cluster;
    settings.insert(settings.end(), {"cluster.preset=ndr-h100-xN", "model.heads=2", "model.grid=[1,8,64]",
                                     "mask.pattern=dense", "run.mode=simulate"});
    const auto [workload, strategy] = described(settings);
    EXPECT_EQ(workload.ranks, c.ranks) << c.cluster[0] << " " << c.cluster[1];
    EXPECT_EQ(workload.nodes, c.nodes) << c.cluster[0] << " " << c.cluster[1];
    EXPECT_EQ(workload.data_parallel, c.replicas) << c.cluster[0] << " " << c.cluster[1];
    EXPECT_EQ(static_cast<int>(strategy.rank_map.size()), workload.ranks);
    EXPECT_EQ(static_cast<int>(std::set(strategy.rank_map.begin(), strategy.rank_map.end()).size()), workload.nodes);
  }
}

TEST(DescribedWorkload, HasNoTextThatIsNotUtf8) {
  const Workload workload =
      described({"mask.pattern=dense", "model.heads=2", "cluster.ranks=2"}, "file m\xff.npy").first;
  EXPECT_EQ(workload.pattern, "file m\xef\xbf\xbd.npy");
  EXPECT_EQ(workload.config_toml, valid_utf8(workload.config_toml));
}

}  // namespace
}  // namespace spscope
