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

TEST(Regression, NamesTheStrategyAsItIsNowAndAsItWas) {
  Comparison now = before();
  now.strategies[0].label = "ring r4";
  const Change change = changes(before(), now, 0.05).at(0);
  EXPECT_EQ(change.label, "ring r4");
  EXPECT_EQ(change.label_before, "ring r2");
  EXPECT_EQ(change.label_after, "ring r4");
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

TEST(Regression, WordsSayHowMuchAndWhetherThatIsADifference) {
  EXPECT_EQ(change_words(after(106, 3, 0)), "slower by 6.0 %");
  EXPECT_EQ(change_words(after(90, 3, 0)), "faster by 10 %");
  EXPECT_EQ(change_words(after(106, 6, 0)), "as fast: 6.0 % more is within the spread of the repeats");
  EXPECT_EQ(change_words(after(94, 6, 0)), "as fast: 6.0 % less is within the spread of the repeats");
  EXPECT_EQ(change_words(after(100, 0, 0)), "as fast, to the nanosecond");
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
  EXPECT_EQ(changes(before(), now, 0.05).size(), 2u) << "one has vanished, another one is new";
}

TEST(Regression, AVanishedStrategyIsNamedAndFails) {
  Comparison both = before();
  both.strategies.push_back(both.strategies[0]);
  both.strategies[1].name = "usp", both.strategies[1].label = "usp u2 r1";
  const std::vector<Change> list = changes(both, before(), 0.05);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_FALSE(list[0].regression);
  EXPECT_TRUE(list[1].regression && list[1].certain);
  EXPECT_EQ(list[1].label, "usp u2 r1");
  EXPECT_EQ(list[1].label_after, "");
  EXPECT_EQ(why_not_judged({&both, 1}, {&both, 1}, list), "");
  // One that could not run before is not missed; one that is new is no regression.
  both.strategies[1].problems = {{ErrorCode::kStrategyIllegal, "", "too few tokens", "", {}}};
  EXPECT_EQ(changes(both, before(), 0.05).size(), 1u);
  both.strategies[1].problems.clear();
  const Change added = changes(before(), both, 0.05).at(1);
  EXPECT_FALSE(added.regression);
  EXPECT_EQ(added.label_before, "");
  EXPECT_EQ(vanished(both).size(), 2u);
}

TEST(Regression, TheChangeIsSplitIntoItsParts) {
  Comparison was = before(), now = before();
  now.strategies[0].makespan_ns = 137;
  was.strategies[0].terms.emplace(), now.strategies[0].terms.emplace();
  (*was.strategies[0].terms)[TimeTerm::kTiles] = 70, (*was.strategies[0].terms)[TimeTerm::kIdle] = 30;
  (*now.strategies[0].terms)[TimeTerm::kTiles] = 72, (*now.strategies[0].terms)[TimeTerm::kSlowdown] = 5;
  (*now.strategies[0].terms)[TimeTerm::kLatePeer] = 40, (*now.strategies[0].terms)[TimeTerm::kEndWait] = 20;
  const Change change = changes(was, now, 0.05).at(0);
  ASSERT_TRUE(change.parts_ns.has_value());
  EXPECT_EQ(*change.parts_ns, (std::array<std::int64_t, 4>{7, 40, 0, -10}));
  EXPECT_EQ(change.why, "ring r2 takes 37 ns longer: 60 ns more waiting for late ranks");
}

// Neither passes nor fails: not by a longer time, and not by an equal one.
TEST(Regression, DisturbedTimesAreNotJudged) {
  for (const std::int64_t ns : {100, 300}) {
    for (const bool disturb_first : {true, false}) {
      Comparison was = before(), now = before();
      now.strategies[0].makespan_ns = ns;
      (disturb_first ? was : now).strategies[0].compute_deviation = 1.8;
      const std::vector<Change> list = changes(was, now, 0.05);
      EXPECT_FALSE(list[0].regression);
      EXPECT_NE(why_not_judged({&was, 1}, {&now, 1}, list)
                    .find(disturb_first ? "other programs disturbed the earlier run: a rank of ring r2"
                                        : "other programs disturbed the later run: a rank of ring r2"),
                std::string::npos);
    }
  }
}

TEST(Regression, MeasuredTimesOfDifferentMachinesAreNotJudged) {
  Comparison was = before(), now = before();
  was.machine = {{"cpu", "A"}, {"cores", "8"}};
  now.machine = {{"cpu", "A"}, {"cores", "4"}};
  const auto why = [&] { return why_not_judged({&was, 1}, {&now, 1}, changes(was, now, 0.05)); };
  EXPECT_EQ(why(), "compute was measured on different machines: cores \"8\" and \"4\"");
  was.strategies[0].provenance->compute = now.strategies[0].provenance->compute = Source::kModelled;
  EXPECT_EQ(why(), "") << "modelled times are the same everywhere";
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
  return why_not_judged({&first, 1}, {&after, 1}, changes(first, after, 0.05));
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

TEST(Regression, AStrategyThatLostItsTimeIsNotPassedOver) {
  Comparison was = before();
  was.strategies.push_back(was.strategies.front());
  was.strategies.back().name = was.strategies.back().label = "usp";
  Comparison now = was;
  now.strategies.back().makespan_ns.reset();
  const std::vector<Change> found = changes(was, now, 0.05);
  EXPECT_TRUE(found.front().comparable);
  EXPECT_FALSE(found.back().comparable);
  EXPECT_EQ(why_not_judged({&was, 1}, {&now, 1}, found), "usp: it has no time in the later run");
}

TEST(Regression, AnInterruptedRunIsAnotherWorkload) {
  Workload whole, part;
  whole.layer_passes_done = 4;
  part.layer_passes_done = 3;
  EXPECT_EQ(difference(whole, part), "complete layer passes 4 and 3");
}

}  // namespace
}  // namespace spscope
