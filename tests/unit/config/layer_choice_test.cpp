// Which layers, and which divisions of the ranks, a config may choose.
#include "backend/config/layer_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "backend/config/config_text.h"
#include "backend/config/parallel_settings.h"

namespace spscope {
namespace {

using Layers = std::vector<int>;

Layers up_to(int count) {
  Layers layers(static_cast<std::size_t>(count));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

TEST(SpreadLayers, AreTheMiddlesOfEqualParts) {
  EXPECT_EQ(spread_layers(8, 40, 40), (Layers{2, 7, 12, 17, 22, 27, 32, 37}));
  EXPECT_EQ(spread_layers(1, 40, 40), Layers{20});
  EXPECT_EQ(spread_layers(3, 4, 4), (Layers{0, 2, 3}));
  EXPECT_EQ(spread_layers(40, 40, 40), up_to(40));
  EXPECT_EQ(spread_layers(99, 4, 4), up_to(4));
}

// 20 double-stream and 40 single-stream layers.
TEST(SpreadLayers, HaveBothKindsInProportion) {
  EXPECT_EQ(spread_layers(3, 60, 20), (Layers{10, 30, 50}));
  EXPECT_EQ(spread_layers(6, 60, 20), (Layers{5, 15, 25, 35, 45, 55}));
  EXPECT_EQ(spread_layers(1, 60, 20), Layers{40});
  for (int count = 2; count < 60; ++count) {
    const Layers layers = spread_layers(count, 60, 20);
    ASSERT_EQ(layers.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 1; i < layers.size(); ++i) ASSERT_LT(layers[i - 1], layers[i]) << count;
    EXPECT_LT(layers.front(), 20) << count;
    EXPECT_GE(layers.back(), 20) << count;
    const auto doubles = std::ranges::count_if(layers, [](int layer) { return layer < 20; });
    EXPECT_NEAR(static_cast<double>(doubles), count / 3.0, count == 2 ? 1.0 : 0.51) << count;
  }
  EXPECT_EQ(spread_layers(59, 60, 59).back(), 59) << "a single layer of its kind is not left out";
}

// The value comes back as it is written.
TEST(LayerChoice, IsReadInEveryForm) {
  const auto read = [](const std::string& value) {
    const ReadConfig config = parse_config("[run]\nlayers = " + value + "\n", "run.toml");
    EXPECT_TRUE(config.problems.empty()) << value;
    EXPECT_EQ(layer_choice_toml(config.config.run.layers), value);
    return config.config.run.layers;
  };
  EXPECT_EQ(read("3"), LayerChoice(3));
  EXPECT_EQ(read("[39, 0, 5]"), LayerChoice::of({39, 0, 5}));
  EXPECT_EQ(read("\"spread:8\""), LayerChoice::spread(8));
  EXPECT_EQ(read("\"auto\""), LayerChoice());
  ReadConfig typed;
  apply_override(typed, "run.layers=[0, 5]");
  EXPECT_EQ(typed.config.run.layers, LayerChoice::of({0, 5}));
  EXPECT_EQ(chosen_layers(LayerChoice::of({39, 0, 5}), 40, 40), (Layers{0, 5, 39}));
  EXPECT_EQ(chosen_layers(3, 40, 40), up_to(3));
}

TEST(LayerChoice, WhatIsWrongIsSaid) {
  for (const char* assignment : {"run.layers=0", "run.layers=spread:0", "run.layers=spread:x", "run.layers=some",
                                 "run.layers=1,1", "run.layers=-1,2", "run.layers=1,x", "run.layers=[]",
                                 "run.layers=1.5", "run.layers=10001", "run.layers=spread:10001", "run.layers="}) {
    ReadConfig config;
    apply_override(config, assignment);
    ASSERT_EQ(config.problems.size(), 1u) << assignment;
    EXPECT_EQ(config.problems[0].field, "run.layers");
    EXPECT_FALSE(config.problems[0].hint.empty()) << assignment;
    EXPECT_EQ(config.config.run.layers, LayerChoice()) << assignment;
  }
}

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
