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
  now.strategies[0].legal = false;
  now.strategies[0].reason = "too few tokens";
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

}  // namespace
}  // namespace spscope
