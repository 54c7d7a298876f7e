#include "backend/analysis/regression.h"

#include <gtest/gtest.h>

#include <functional>

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

// What becomes of it in a second file.
Comparison with(const std::function<void(StrategyResult&)>& edit) {
  Comparison now = before();
  edit(now.strategies[0]);
  return now;
}

Change after(std::int64_t makespan_ns, std::int64_t spread_ns) {
  return changes(before(),
                 with([&](StrategyResult& s) { s.makespan_ns = makespan_ns, s.makespan_spread_ns = spread_ns; }), 0.05)
      .at(0);
}

TEST(Regression, IsSlowerThanTheLimitAndTheLargerSpread) {
  EXPECT_TRUE(after(106, 3).regression);
  EXPECT_DOUBLE_EQ(*after(106, 3).slower_by, 0.06);
  EXPECT_FALSE(after(105, 3).regression) << "exactly the limit";
  EXPECT_FALSE(after(106, 6).regression);
  EXPECT_EQ(after(106, 6).note, "within the spread of its repeats");
  EXPECT_TRUE(after(107, 6).regression);
  EXPECT_FALSE(after(90, 3).regression);
  EXPECT_DOUBLE_EQ(*after(90, 3).slower_by, -0.1);
}

TEST(Regression, WordsSayHowMuchAndWhetherThatIsADifference) {
  EXPECT_EQ(change_words(after(106, 3)), "slower by 6.0 %");
  EXPECT_EQ(change_words(after(90, 3)), "faster by 10 %");
  EXPECT_EQ(change_words(after(106, 6)), "as fast: 6.0 % more is within the spread of the repeats");
  EXPECT_EQ(change_words(after(94, 6)), "as fast: 6.0 % less is within the spread of the repeats");
  EXPECT_EQ(change_words(after(100, 0)), "as fast, to the nanosecond");
}

// What changed, whether that is a regression, and why nothing was judged; a wrong result is a finding.
TEST(Regression, CountsWhatCanBeCompared) {
  const struct {
    std::function<void(StrategyResult&)> edit;
    bool regression;
    std::string note, why_not;
  } rows[] = {
      {[](StrategyResult& s) { s.makespan_ns = 50, s.verify = "failed"; }, true, "its outputs are no longer right", ""},
      {[](StrategyResult& s) {
         s.problems = {{ErrorCode::kStrategyIllegal, "", "too few tokens", "", {}}};
       },
       true, "no longer legal: too few tokens", ""},
      {[](StrategyResult& s) { s.makespan_ns = 300, s.provenance->timing = Timing::kOversubscribed; }, false,
       "timing is oversubscribed", "timing is oversubscribed"},
      {[](StrategyResult& s) { s.mode = RunMode::kSimulate; }, true, "not in the later run",
       "their modes differ: execute before, simulate after"},
      {[](StrategyResult& s) { s.name = "usp"; }, true, "not in the later run",
       "no strategy with the same parameters is in both files"},
      {[](StrategyResult& s) { s.makespan_ns.reset(); }, false, "it has no time in the later run",
       "no strategy has a time in both files"},
  };
  for (const auto& row : rows) {
    const Comparison first = before(), now = with(row.edit);
    const std::vector<Change> found = changes(first, now, 0.05);
    SCOPED_TRACE(row.why_not + row.note);
    EXPECT_EQ(found[0].regression, row.regression);
    EXPECT_EQ(found[0].note, row.note);
    EXPECT_TRUE(row.why_not.empty() || !found[0].slower_by);
    EXPECT_EQ(why_not_judged({&first, 1}, {&now, 1}, found), row.why_not);
  }
}

TEST(Regression, NamesTheStrategyAsItIsNowAndAsItWas) {
  const Change change = changes(before(), with([](StrategyResult& s) { s.label = "ring r4"; }), 0.05).at(0);
  EXPECT_EQ(change.label, "ring r4");
  EXPECT_EQ(change.label_before, "ring r2");
  EXPECT_EQ(change.label_after, "ring r4");
}

TEST(Regression, StrategiesMatchByNameParametersAndModeNotById) {
  Comparison now = before();
  now.strategies[0].id = "ring-2";
  EXPECT_EQ(changes(before(), now, 0.05).size(), 1u);
  now.strategies[0].parameters.set("stripes", std::int64_t{4});
  EXPECT_EQ(changes(before(), now, 0.05).size(), 2u) << "one has vanished, another one is new";
}

TEST(Regression, AStrategyThatCouldNotRunBeforeIsNotMissed) {
  Comparison both = before();
  both.strategies.push_back(both.strategies[0]);
  both.strategies[1].name = "usp";
  both.strategies[1].problems = {{ErrorCode::kStrategyIllegal, "", "too few tokens", "", {}}};
  EXPECT_EQ(changes(both, before(), 0.05).size(), 1u);
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
  EXPECT_EQ(change.why, "ring r2 is 37 ns slower: its ranks wait 60 ns on average for late ones");
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
  b.config_toml = "# another comment";
  EXPECT_EQ(difference(a, b), "");
  b.tokens = 7;
  EXPECT_EQ(difference(a, b), "tokens 0 and 7");
  b.tokens = 0, b.layer_passes_done = 3;
  EXPECT_EQ(difference(a, b), "complete layer passes 0 and 3") << "an interrupted run is another workload";
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

}  // namespace
}  // namespace spscope
