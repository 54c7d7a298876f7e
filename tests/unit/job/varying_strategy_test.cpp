// Strategies that differ from layer to layer: one whose plan breaks a rule is refused, and the others run to their end;
// one that splits its ranks differently says so for each layer pass.
#include <gmock/gmock.h>

#include <span>

#include "backend/analysis/comparison.h"
#include "backend/job/run_job.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/output_file.h"
#include "backend/store/store_reader.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

int whole_plans = 0;  // that `ulysses` still makes

// Ulysses, whose plan computes nothing from a denoise step on.
Strategy broken_from(int denoise_step) {
  whole_plans = denoise_step;
  Strategy strategy = *find_strategy("ulysses");
  strategy.plan = [](PlanBuilder& builder, const Request& request, const Parameters& parameters,
                     const Decision& decision) {
    if (whole_plans-- > 0) find_strategy("ulysses")->plan(builder, request, parameters, decision);
  };
  return strategy;
}

// `first` and `ring` over two denoise steps of one layer, simulated, and what the file says of them.
Comparison run(const TemporaryFolder& folder, const Strategy& first, std::vector<std::string>& notes) {
  JobFlags flags;
  flags.strategies = {std::string(first.name), "ring"};
  flags.settings = {"run.mode=simulate", "run.layers=1", "run.denoise_steps=2", "cluster.ranks=2"};
  Job job = load_job(flags);
  job.strategies[0].strategy = &first;
  {
    StoreWriter head(folder / "run.db", {});
    RunOptions options;
    options.on_note = [&](const std::string& text) { notes.push_back(text); };
    EXPECT_FALSE(run_job(job, {&head, nullptr}, options).interrupted());
    head.finish();
  }
  return compare_store(StoreReader(folder / "run.db")).front();
}

using Rows = decltype(QueryResult::rows);

// For each strategy the runs of the file, finished or not.
Rows runs_of_strategies(const std::string& path) {
  return StoreReader(path)
      .query("SELECT count(run_id) FROM strategy LEFT JOIN run USING (strategy_id) GROUP BY strategy_id")
      .rows;
}

TEST(VaryingStrategy, ThatHasNoPlanDoesNotStopTheOthers) {
  for (const int first : {0, 1}) {
    const TemporaryFolder folder;
    const Strategy broken = broken_from(first);
    std::vector<std::string> notes;
    const Comparison comparison = run(folder, broken, notes);
    ASSERT_EQ(comparison.strategies.size(), 2U);
    const StrategyResult &refused = comparison.strategies[0], &ring = comparison.strategies[1];
    EXPECT_FALSE(refused.legal());
    EXPECT_TRUE(refused.failed());
    EXPECT_THAT(refused.reason(), ::testing::HasSubstr("the plan of ulysses breaks"));
    EXPECT_TRUE(refused.by_layer.empty()) << "figures of the step before";
    EXPECT_FALSE(refused.makespan_ns);
    EXPECT_EQ(refused.label, "ulysses u2") << "what it decided before it was refused";
    EXPECT_EQ(refused.meshes.size(), 1U);
    EXPECT_TRUE(ring.legal());
    EXPECT_EQ(ring.by_layer.size(), 2U);
    EXPECT_TRUE(ring.makespan_ns);
    EXPECT_THAT(notes, ::testing::Contains(::testing::HasSubstr("is left out"))) << first;

    // recover takes nothing of it for damage.
    OutputFile out(folder / "again.db", false);
    const std::string path = folder / "run.db";
    const MergeReport report = merge_shards(out, std::span(&path, 1), {.tolerant = true});
    EXPECT_THAT(report.notes, ::testing::IsEmpty());
    EXPECT_EQ(runs_of_strategies(folder / "again.db"), runs_of_strategies(path));
    EXPECT_EQ(runs_of_strategies(path), (Rows{{std::to_string(first)}, {"2"}}));
  }
}

int decisions = 0;

TEST(VaryingStrategy, NamesTheDegreesOfEachLayerPass) {
  Strategy alternating = *find_strategy("usp");
  alternating.decide = [](const Request& request, const Parameters&) {
    Parameters parameters(find_strategy("usp")->parameters());
    parameters.set(decisions++ % 2 == 0 ? "ulysses" : "ring", std::int64_t{2});
    return find_strategy("usp")->decide(request, parameters);
  };
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const StrategyResult usp = run(folder, alternating, notes).strategies.at(0);
  EXPECT_EQ(usp.label, "usp u2 / r2");
  ASSERT_EQ(usp.meshes.size(), 2U);
  EXPECT_EQ(usp.meshes[0].ulysses_groups, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(usp.meshes[1].ring_groups, (std::vector<std::vector<int>>{{0, 1}}));
  ASSERT_EQ(usp.by_layer.size(), 2U);
  EXPECT_EQ(usp.by_layer[0].mesh, 0);
  EXPECT_EQ(usp.by_layer[1].mesh, 1);
  EXPECT_EQ(usp.passes_of_mesh(1), 1);
}

}  // namespace
}  // namespace spscope
