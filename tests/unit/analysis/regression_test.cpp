#include "backend/analysis/regression.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

// One strategy of 100 ns with a spread of 3 ns.
Comparison before() {
  Comparison c;
  StrategyResult s;
  s.id = s.name = "ring";
  s.label = "ring r2";
  s.makespan_ns = 100;
  s.makespan_spread_ns = 3;
  s.provenance = RunProvenance{};
  s.verify = "passed";
  c.strategies = {s};
  return c;
}

Change after(std::int64_t makespan_ns, std::int64_t spread_ns, double limit) {
  Comparison now = before();
  now.strategies[0].makespan_ns = makespan_ns;
  now.strategies[0].makespan_spread_ns = spread_ns;
  return changes(before(), now, limit).at(0);
}

TEST(Regression, SlowerThanTheLimitAndTheSpreadCounts) {
  const Change change = after(106, 3, 0.05);
  EXPECT_TRUE(change.regression);
  EXPECT_DOUBLE_EQ(*change.slower_by, 0.06);
}

// The name is that of the file which the change leads to.
TEST(Regression, NamesTheStrategyAsItIsNow) {
  Comparison now = before();
  EXPECT_EQ(changes(before(), now, 0.05).at(0).label, "ring r2");
  now.strategies[0].label = "ring r4";
  EXPECT_EQ(changes(before(), now, 0.05).at(0).label, "ring r4 (was ring r2)");
}

TEST(Regression, ExactlyTheLimitDoesNotCount) { EXPECT_FALSE(after(105, 3, 0.05).regression); }

TEST(Regression, WithinTheLargerSpreadDoesNotCount) {
  EXPECT_FALSE(after(106, 6, 0.05).regression);
  EXPECT_EQ(after(106, 6, 0.05).note, "within the spread of its repeats");
  EXPECT_TRUE(after(107, 6, 0.05).regression);
}

TEST(Regression, FasterIsNone) {
  EXPECT_FALSE(after(90, 3, 0).regression);
  EXPECT_DOUBLE_EQ(*after(90, 3, 0).slower_by, -0.1);
}

TEST(Regression, OversubscribedTimesDoNotCompare) {
  Comparison now = before();
  now.strategies[0].makespan_ns = 300;
  now.strategies[0].provenance->timing = Timing::kOversubscribed;
  const Change change = changes(before(), now, 0.05).at(0);
  EXPECT_FALSE(change.regression);
  EXPECT_FALSE(change.slower_by.has_value());
}

TEST(Regression, WrongOutputsCountWhateverTheTime) {
  Comparison now = before();
  now.strategies[0].makespan_ns = 50;
  now.strategies[0].verify = "failed";
  EXPECT_TRUE(changes(before(), now, 0.05).at(0).regression);
}

TEST(Regression, NoLongerLegalCounts) {
  Comparison now = before();
  now.strategies[0].problems = {{ErrorCode::kStrategyIllegal, "", "too few tokens", "", {}}};
  EXPECT_EQ(changes(before(), now, 0.05).at(0).note, "no longer legal: too few tokens");
}

TEST(Regression, StrategiesMatchByNameParametersAndModeNotById) {
  Comparison now = before();
  now.strategies[0].id = "ring-2";
  EXPECT_EQ(changes(before(), now, 0.05).size(), 1u);
  now.strategies[0].parameters.set("stripes", std::int64_t{4});
  EXPECT_TRUE(changes(before(), now, 0.05).empty());
}

TEST(Regression, WorkloadsDifferByWhatChangesTheWork) {
  Workload a, b;
  EXPECT_EQ(difference(a, b), "");
  b.config_toml = "# another comment";
  EXPECT_EQ(difference(a, b), "");
  b.tokens = 7;
  EXPECT_EQ(difference(a, b), "tokens 0 and 7");
}

// What was compared when `after` is the second file.
std::string why_nothing(const Comparison& after) {
  const Comparison first = before();
  return why_nothing_compared({&first, 1}, {&after, 1}, changes(first, after, 0.05));
}

TEST(Regression, AComparisonOfNothingSaysWhy) {
  EXPECT_EQ(why_nothing(before()), "");
  Comparison now = before();
  now.strategies[0].mode = RunMode::kSimulate;
  EXPECT_EQ(why_nothing(now), "their modes differ: execute and simulate");
  now = before();
  now.strategies[0].provenance->timing = Timing::kOversubscribed;
  EXPECT_EQ(why_nothing(now), "timing is oversubscribed");
  now = before();
  now.strategies[0].name = "usp";
  EXPECT_EQ(why_nothing(now), "no strategy with the same parameters is in both files");
  now = before();
  now.strategies[0].makespan_ns.reset();
  EXPECT_EQ(why_nothing(now), "no strategy has a time in both files");
  now = before();
  now.strategies[0].verify = "failed";
  EXPECT_EQ(why_nothing(now), "") << "a wrong result is a finding";
}

TEST(Regression, AnInterruptedRunIsAnotherWorkload) {
  Workload whole, part;
  whole.layer_passes_done = 4;
  part.layer_passes_done = 3;
  EXPECT_EQ(difference(whole, part), "complete layer passes 4 and 3");
}

}  // namespace
}  // namespace spscope
