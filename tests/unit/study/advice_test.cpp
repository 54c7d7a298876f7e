// Advice: what speed-ups are over, and when a strategy is named as the one to use.
#include "backend/study/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace spscope {
namespace {

StrategyResult result(const char* name, std::int64_t makespan_ns, const char* id = nullptr) {
  StrategyResult s;
  s.id = id != nullptr ? id : name;
  s.name = s.label = name;
  s.mode = RunMode::kSimulate;
  s.provenance = RunProvenance{Source::kModelled, Source::kModelled, Timing::kClean};
  s.makespan_ns = makespan_ns;
  return s;
}

StrategyResult refused(const char* name) {
  StrategyResult s = result(name, 0);
  s.makespan_ns.reset();
  s.problems.push_back({ErrorCode::kStrategyIllegal, "", "too few heads", "", {}});
  return s;
}

Comparison comparison(std::vector<StrategyResult> strategies) {
  Comparison c;
  c.strategies = std::move(strategies);
  return c;
}

TEST(Advice, SpeedUpsAreOverUlyssesWhereItCanRun) {
  EXPECT_EQ(reference_of(comparison({result("ulysses", 300), result("ring", 100), result("usp", 200)}))->id, "ulysses");
}

TEST(Advice, TheFastestUspStandsForUlyssesWhereThatCannotRunAndElseARing) {
  const Comparison with_usp = comparison(
      {refused("ulysses"), result("ring", 400), result("usp", 300), result("usp", 200, "usp-2"), result("dbsp", 100)});
  EXPECT_EQ(reference_of(with_usp)->id, "usp-2");
  const Comparison without = comparison({refused("ulysses"), result("dbsp", 100), result("ring", 400), refused("usp")});
  EXPECT_EQ(reference_of(without)->id, "ring");
  EXPECT_EQ(reference_of(comparison({refused("ulysses"), result("dbsp", 100)}))->id, "dbsp");
}

TEST(Advice, SpeedUpsAreOverTheFirstWhereUlyssesIsNotAskedFor) {
  EXPECT_EQ(reference_of(comparison({result("ring", 400), result("usp", 200)}))->id, "ring");
  EXPECT_EQ(reference_of(comparison({refused("ring")})), nullptr);
}

Job mini(std::vector<std::string> strategies, const char* ranks) {
  return load_job({"",
                   std::move(strategies),
                   {"model.preset=wan-mini", "model.heads=3", "model.head_dim=64", "cluster.preset=h100x8",
                    std::string("cluster.ranks=") + ranks, "mask.pattern=sparge", "run.mode=simulate",
                    "run.scope=layer", "run.layers=1", "run.output="}});
}

Advice advice_of(std::vector<std::string> strategies, const char* ranks) {
  const std::atomic<bool> stop = false;
  return advise(mini(std::move(strategies), ranks), 1, {"test", stop, {}, {}});
}

// Three heads on four ranks.
TEST(Advice, NamesTheOneToUseUnlessOneThatWasAskedForCannotRun) {
  const Advice all = advice_of({"all"}, "4");
  EXPECT_EQ(all.best(), all.fastest);
  EXPECT_EQ(all.result(all.reference).name, "usp");
  EXPECT_THAT(all.sentences.front(), testing::StartsWith("By the model, use "));

  const Advice asked = advice_of({"ulysses", "ring", "usp"}, "4");
  EXPECT_EQ(asked.best(), "");
  EXPECT_NE(asked.fastest, "");
  EXPECT_THAT(asked.sentences.front(), testing::StartsWith("No winner is named, since ulysses was asked for"));
  const Section section = advice_section(asked);
  EXPECT_TRUE(std::ranges::none_of(std::get<Table>(section.blocks.front()).rows, &Row::best));

  const Advice alone = advice_of({"ring"}, "4");
  EXPECT_EQ(alone.best(), "ring");
  const Advice none = advice_of({"ulysses"}, "4");
  EXPECT_EQ(none.best(), "");
  EXPECT_EQ(none.fastest, "");
}

TEST(Advice, SaysWhereEndToEndIsOfAttentionAlone) {
  const auto notes = [](const char* scope) {
    Job job = mini({"ring"}, "2");
    job.config.run.scope = scope == std::string("layer") ? RunScope::kLayer : RunScope::kAttention;
    const std::atomic<bool> stop = false;
    return std::get<Table>(advice_section(advise(job, 1, {"test", stop, {}, {}})).blocks.front()).notes;
  };
  EXPECT_TRUE(notes("layer").empty());
  ASSERT_EQ(notes("attention").size(), 1u);
  EXPECT_THAT(notes("attention").front().text, testing::HasSubstr("of attention alone"));
}

}  // namespace
}  // namespace spscope
