// A comparison comes from the stored file alone.
#include "backend/analysis/comparison.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/analysis/changed_settings.h"
#include "backend/analysis/run_models.h"
#include "backend/analysis/trust.h"
#include "backend/config/cluster.h"
#include "backend/config/profile_layers.h"
#include "backend/store/store_writer.h"
#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

// Two strategies with the plan of two_ranks.h, the second 30 ns slower; three repeats each.
class StoredComparison : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("spscope-comparison-" + std::to_string(::getpid()) + ".db"))
                .string();
    StoreWriter writer(path_, {.force = true, .tool_version = "9.9"});
    const std::vector<MachineFact> facts = {{"cpu", "a cpu"}};
    writer.add_machine(facts);
    WorkloadRecord workload;
    workload.model = "wan2.1-t2v-14b";
    workload.pattern = "paro";
    workload.config_hash = "00ff";
    workload.tokens = workload.blocks = 4;
    workload.ranks = 2;
    workload.model_layers = 40;
    workload.layers = 3;
    workload.cluster = "a800x8";
    workload.cluster_toml = cluster_toml(*find_cluster_preset("a800x8"));
    const WorkloadId id = writer.add_workload(workload);
    add_strategy(writer, id, "ring", 0);
    add_strategy(writer, id, "ring-2", 30);
    StrategyRecord illegal;
    illegal.workload_id = id;
    illegal.id = illegal.name = illegal.label = "usp";
    illegal.problems = {{ErrorCode::kStrategyIllegal, "usp", "one head", "use ring", {}}};
    writer.add_strategy(illegal);
    writer.finish();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static void add_strategy(StoreWriter& writer, WorkloadId workload, const std::string& id, std::int64_t later_ns) {
    const Request request = testing::two_rank_request();
    const Plan plan = testing::two_rank_ring(request);
    StrategyRecord strategy;
    strategy.workload_id = workload;
    strategy.id = id;
    strategy.name = "ring";
    strategy.label = "ring r2";
    strategy.meshes = {{1, 2}};
    strategy.mode = RunMode::kProject;
    RunRecord run;
    run.strategy_id = writer.add_strategy(strategy);
    run.plan_id = writer.add_plan(plan);
    run.tiles = 8;
    run.verdict = Verdict::kPassed;
    const RunId run_id = writer.add_run(run);
    const std::vector<RankUsage> usage = {
        {.rank = 0, .tiles = 5, .bytes_sent_intra_node = 16, .bytes_received = 16, .counted = true},
        {.rank = 1, .tiles = 3, .bytes_sent_intra_node = 16, .bytes_received = 16, .counted = true}};
    writer.add_usage(run_id, usage);
    const std::vector<Traffic> traffic = {{0, 1, "k", 0, 16}, {1, 0, "k", 0, 16}};
    writer.add_traffic(run_id, traffic);
    // Makespans 120, 132, 124: the median is the third.
    const std::int64_t extra_ns[] = {0, 12, 4};
    for (int i = 0; i < 3; ++i) {
      const Timeline timeline = testing::two_rank_times(plan, extra_ns[i] + later_ns);
      writer.add_repeat(run_id, {.repeat = i, .makespan_ns = timeline.makespan_ns()}, plan, timeline, run.provenance);
    }
  }

  std::string path_;
};

TEST_F(StoredComparison, HasTheFiguresOfTheMedianRepeat) {
  const std::vector<Comparison> comparisons = compare_store(StoreReader(path_));
  ASSERT_EQ(comparisons.size(), 1u);
  const StrategyResult& ring = comparisons[0].strategies.at(0);
  EXPECT_EQ(ring.makespan_ns, 124);
  EXPECT_EQ(ring.makespan_spread_ns, 3);
  EXPECT_EQ(ring.times.compute_ns, (std::vector<std::int64_t>{46, 94})) << "rank 1 computes 4 ns longer in that repeat";
  EXPECT_EQ(ring.times.other_ns, (std::vector<std::int64_t>{34, 10}));
  EXPECT_EQ(ring.attention_ns, 84);
  EXPECT_DOUBLE_EQ(*ring.imbalance_ratio, 1.25);
  EXPECT_DOUBLE_EQ(*ring.barrier_imbalance_ratio, 1.5);
  EXPECT_DOUBLE_EQ(*comparisons[0].strategies.at(1).speedup, 124.0 / 154.0);
}

TEST_F(StoredComparison, HoldsProjectedComputeAgainstTheClusterOfTheFile) {
  const Comparison c = compare_store(StoreReader(path_)).at(0);
  ASSERT_TRUE(c.cluster.has_value());
  EXPECT_DOUBLE_EQ(c.cluster->device_tflops, 312);
  EXPECT_NEAR(c.cluster->attention_tflops, find_gpu("a800")->find_kernel("fa2")->tflops.value, 0.1);
  // Of four attends and two finishes at 5 us a launch, the launches are all that counts: 136 ns of them.
  const double scale = c.strategies.at(1).compute_scale.value();
  EXPECT_GT(scale, 0.001);
  EXPECT_LT(scale, 0.01);
  EXPECT_TRUE(foreign_compute(c.strategies.at(1), c.workload));
}

TEST_F(StoredComparison, SaysWhatWasAskedWhatIsIllegalAndHowMuchTheFileHolds) {
  const Comparison c = compare_store(StoreReader(path_)).at(0);
  EXPECT_EQ(c.tool_version, "9.9");
  EXPECT_EQ(c.config_hash, "00ff");
  EXPECT_EQ(c.machine.at(0).value, "a cpu");
  EXPECT_EQ(c.workload.tokens, 4);
  EXPECT_EQ(c.workload.layer_passes_done, 1);
  EXPECT_EQ(c.workload.layer_passes(), 3);
  EXPECT_TRUE(c.workload.interrupted());
  EXPECT_FALSE(c.strategies.at(2).legal());
  EXPECT_EQ(c.strategies.at(2).reason(), "one head");
  EXPECT_FALSE(c.strategies.at(2).makespan_ns.has_value());
}

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

std::string text_of(const std::vector<ChangedSetting>& settings) {
  std::string text;
  for (const ChangedSetting& s : settings) text += s.key + ": " + s.before + " -> " + s.after + "\n";
  return text;
}

TEST(ChangedSettings, AreEveryKeyThatDiffersWithBothValues) {
  WorkloadRecord a, b;
  a.config_toml = "[run]\ndtype = \"bf16\"\nrepeats = 5\nstrategies = [\"ring\"]\n[mask]\ndensity = 0.5\n";
  b.config_toml =
      "[mask]\ndensity = 0.25\n[run]\ndtype = \"fp32\"\nrepeats = 5\nstrategies = [\"ring\", \"usp\"]\nseed = 3\n";
  a.cluster_toml = "name = \"h100\"\nnote = \"x\"\n[network]\nlink_gbps = { value = 370.8, source = \"old\" }\n";
  b.cluster_toml = "name = \"h100\"\nnote = \"y\"\n[network]\nlink_gbps = { value = 185.4, source = \"new\" }\n";
  EXPECT_EQ(text_of(changed_settings(a, b)),
            "mask.density: 0.5 -> 0.25\n"
            "run.dtype: \"bf16\" -> \"fp32\"\n"
            "run.seed:  -> 3\n"
            "run.strategies: [\"ring\"] -> [\"ring\", \"usp\"]\n"
            "cluster network.link_gbps: 370.8 -> 185.4\n");
  EXPECT_TRUE(changed_settings(a, a).empty());
}

TEST(ChangedSettings, TextsThatAreNoTomlDifferAsAWhole) {
  WorkloadRecord a, b;
  a.config_toml = "= 1";
  b.config_toml = "[run]\nrepeats = 5\n";
  EXPECT_EQ(text_of(changed_settings(a, b)), "run.repeats:  -> 5\ntext: \"= 1\" -> \n");
}

}  // namespace
}  // namespace spscope
