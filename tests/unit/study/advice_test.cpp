// Advice: what speed-ups are over, and when a strategy is named as the one to use.
#include "backend/study/advice.h"

#include <gmock/gmock.h>

#include "backend/job/weight_gather.h"
#include "backend/study/advice_words.h"
#include "backend/study/weight_layout.h"

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

// In whatever order they come. Where Ulysses cannot run the fastest USP stands for it, and else a ring; where it is not
// asked for, the first.
TEST(Advice, SpeedUpsAreOverUlyssesOrWhatStandsForIt) {
  const auto reference = [](const std::vector<StrategyResult>& strategies) {
    const StrategyResult* found = baseline(strategies, RunMode::kSimulate);
    return found == nullptr ? "" : found->id;
  };
  EXPECT_EQ(reference({result("dbsp", 50), result("usp", 200), result("ulysses", 300)}), "ulysses");
  EXPECT_EQ(reference({refused("ulysses"), result("ring", 400), result("usp", 300), result("usp", 200, "usp-2")}),
            "usp-2");
  EXPECT_EQ(reference({refused("ulysses"), result("dbsp", 100), result("ring", 400), refused("usp")}), "ring");
  EXPECT_EQ(reference({refused("ulysses"), result("dbsp", 100)}), "dbsp");
  EXPECT_EQ(reference({result("ring", 400), result("usp", 200)}), "ring");
  EXPECT_EQ(reference({refused("ring")}), "");
}

// A generation of 20 steps x 2 passes x 40 layers of which the fastest takes `end_to_end_ns`.
Advice of_fastest(const char* name, std::int64_t end_to_end_ns) {
  Advice advice;
  advice.fastest = advice.chosen = name;
  advice.runs.together = comparison({result(name, 100)});
  advice.runs.together.strategies.front().end_to_end_ns = end_to_end_ns;
  advice.runs.together.strategies.front().memory_need = {{{0, 1 << 30, 0, 0}}, std::int64_t{2} << 30};
  Workload& workload = advice.runs.together.workload;
  workload.forward_passes = 2;
  workload.model_layers = 40;
  workload.model_denoise_steps = 20;
  advice.judged = advice.runs.together;
  return advice;
}

// Where an engine runs none of the fastest, evidence is of the plan that is named and of the fastest, not of a third
// one. Whatever plan a sentence names has a row, however few there are.
TEST(AdviceWords, EvidenceIsOfTheNamedPlanAndNamedPlansHaveRows) {
  const Job job = load_job({"", {"ulysses"}, {"model.preset=wan-mini", "cluster.preset=h100x8", "run.output="}});
  Advice advice;
  advice.judged = comparison({result("dbsp", 1'000), result("dsv", 1'010), result("snake", 1'100), result("usp", 1'400),
                              result("ring", 1'500), result("ulysses", 1'600)});
  Workload& workload = advice.judged.workload;
  workload.ranks = 8, workload.scope = "layer", workload.density = 0.3, workload.cluster = "h100x8";
  advice.judged.cluster.emplace().link_gbps = 450;
  for (StrategyResult& s : advice.judged.strategies) {
    s.label += " u8";
    s.by_layer.resize(1);
    s.end_to_end_ns = *s.makespan_ns * 1'000'000;
    advice.engines[s.id] = {};
  }
  advice.engines["snake"] = {"xdit"}, advice.engines["ulysses"] = {"sglang", "xdit"};
  advice.runs.together = advice.candidates = advice.judged;
  std::erase_if(advice.candidates.strategies, [&](const StrategyResult& s) { return advice.engines[s.id].empty(); });
  advice.fastest = "dbsp", advice.chosen = "snake", advice.reference = "ulysses";
  AdviceFacts facts;
  facts.code = "some code", facts.gpus = 8;
  const std::vector<AdvicePart> said = advice_sentences(advice, job, facts);
  std::string text;
  for (const AdvicePart& part : said) text += std::get<Paragraph>(part.block).text + "\n";
  EXPECT_THAT(text, testing::HasSubstr("db-SP measured attention with dbsp "));
  EXPECT_THAT(text, testing::HasSubstr("Nobody has published times of snake on sparse masks. Here dbsp u8 is 1.40x"));
  EXPECT_THAT(text, testing::HasSubstr("--engine xdit prints the command that starts it there."));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("dsv")));
  std::vector<std::string> rows;
  for (const Row& row : strategies_table(advice, facts, false, 3, said).rows) rows.push_back(row.cells.front().text);
  EXPECT_THAT(rows, testing::ElementsAre("dbsp u8", "snake u8", "usp u8", "ulysses u8"));
}

TEST(WeightLayout, IsShardedWhereThatIsFasterThoughNothingHidesGathering) {
  const Job job = load_job({"",
                            {"ring"},
                            {"model.preset=wan2.1-t2v-14b", "cluster.preset=4090x8", "run.mode=simulate",
                             "run.weights=sharded", "run.output="}});
  const auto gather_ns = static_cast<std::int64_t>(weight_gather(job).layer_ns * 40 * 2 * 20);
  const Advice sharded = of_fastest("ring", 1'000'000'000);
  const LayoutChoice faster = choose_layout(job, of_fastest("megatron_sp", 1'000'000'100 + gather_ns), sharded);
  EXPECT_TRUE(faster.sharded);
  EXPECT_THAT(faster.sentence, testing::HasSubstr("under FSDP. If nothing hides gathering them, a generation takes "));
  EXPECT_THAT(faster.unsharded, testing::HasSubstr("the answer is megatron_sp, which no engine runs. It takes "));
  EXPECT_THAT(faster.unsharded, testing::HasSubstr(" and fits, with 1.0 GiB to spare."));
  // Of a tie what is compared is what is named, not the fastest.
  Advice tie = of_fastest("ulysses", 1'000'000'100 + gather_ns);
  tie.judged.strategies.push_back(result("torus", 99));
  tie.fastest = "torus", tie.engines["ulysses"] = {"sglang"};
  EXPECT_THAT(choose_layout(job, tie, sharded).unsharded, testing::HasSubstr("the answer is ulysses. It takes "));

  const LayoutChoice perhaps = choose_layout(job, of_fastest("megatron_sp", 999'999'900 + gather_ns), sharded);
  EXPECT_FALSE(perhaps.sharded);
  EXPECT_THAT(perhaps.sentence, testing::HasSubstr("If each GPU keeps a part of the weights"));

  const LayoutChoice slower = choose_layout(job, of_fastest("megatron_sp", 900'000'000), sharded);
  EXPECT_FALSE(slower.sharded);
  EXPECT_EQ(slower.sentence, "");

  const LayoutChoice only = choose_layout(job, Advice(), sharded);
  EXPECT_TRUE(only.sharded);
  EXPECT_THAT(only.sentence, testing::HasSubstr("Whole weights, 26.6 GiB, fit with no strategy"));
  EXPECT_FALSE(choose_layout(job, of_fastest("megatron_sp", 1), Advice()).sharded);
}

}  // namespace
}  // namespace spscope
