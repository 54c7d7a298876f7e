// A strategy whose plan breaks a rule is refused, and the others run to their end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/analysis/comparison.h"
#include "backend/job/run_job.h"
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

// `broken` and `ring` over two denoise steps of one layer, simulated, and what the file says of them.
Comparison run(const TemporaryFolder& folder, const Strategy& broken, std::vector<std::string>& notes) {
  JobFlags flags;
  flags.strategies = {"ulysses", "ring"};
  flags.settings = {"run.mode=simulate", "run.denoise_steps=2", "cluster.ranks=2"};
  Job job = load_job(flags);
  job.strategies[0].strategy = &broken;
  {
    StoreWriter head(folder / "run.db", {});
    RunOptions options;
    options.on_note = [&](const std::string& text) { notes.push_back(text); };
    EXPECT_FALSE(run_job(job, {&head, nullptr}, options).interrupted());
    head.finish();
  }
  return compare_store(StoreReader(folder / "run.db")).front();
}

TEST(RefusedStrategy, DoesNotStopTheOthers) {
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
    EXPECT_TRUE(ring.legal());
    EXPECT_EQ(ring.by_layer.size(), 2U);
    EXPECT_TRUE(ring.makespan_ns);
    EXPECT_THAT(notes, ::testing::Contains(::testing::HasSubstr("is left out"))) << first;
  }
}

}  // namespace
}  // namespace spscope
