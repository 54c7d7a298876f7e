#include "backend/analysis/judgement.h"

#include <gtest/gtest.h>

#include "backend/analysis/choice_by_pass.h"
#include "backend/analysis/equal_plans.h"
#include "backend/analysis/published_errors.h"
#include "backend/report/conclusion.h"

namespace spscope {
namespace {

StrategyResult timed(const char* id, std::int64_t makespan_ns) {
  StrategyResult s;
  s.id = s.name = s.label = id;
  s.mode = RunMode::kSimulate;
  s.provenance = RunProvenance{Source::kModelled, Source::kModelled, Timing::kClean};
  s.makespan_ns = makespan_ns;
  s.terms.emplace();
  (*s.terms)[TimeTerm::kWireInside] = makespan_ns;
  return s;
}

Comparison on(const char* cluster, double link_gbps, int nodes = 1) {
  Comparison c;
  c.workload.cluster = cluster;
  c.workload.ranks = 8;
  c.workload.nodes = nodes;
  c.cluster.emplace();
  c.cluster->link_gbps = link_gbps;
  c.strategies = {timed("ring", 130), timed("usp", 100), timed("ulysses", 115)};
  return c;
}

Judgement judged(const Comparison& c) { return judge(by_mode(c).front()); }

TEST(RatioError, IsThatOfTheKindOfMachine) {
  EXPECT_EQ(machine_kind(on("h100x8", 370).workload, on("h100x8", 370).cluster), MachineKind::kNvlink);
  EXPECT_EQ(machine_kind(on("l40sx8", 22).workload, on("l40sx8", 22).cluster), MachineKind::kPcie);
  EXPECT_EQ(machine_kind(on("ndr", 370, 2).workload, on("ndr", 370, 2).cluster), MachineKind::kNodes);
  EXPECT_EQ(machine_kind(on("local", 4).workload, on("local", 4).cluster), MachineKind::kCpu);
  for (const MachineKind kind : {MachineKind::kNvlink, MachineKind::kPcie, MachineKind::kNodes, MachineKind::kCpu}) {
    EXPECT_GT(ratio_error(kind, 8).median, 0);
    EXPECT_LT(ratio_error(kind, 8).median, 0.5);
    EXPECT_FALSE(ratio_error(kind, 8).from.empty());
  }
  // Between two GPUs no host bridge is shared.
  EXPECT_LT(ratio_error(MachineKind::kPcie, 2).median, ratio_error(MachineKind::kPcie, 4).median);
}

// 10 and 20, 14 and 14: the least of each are 24 beside 28. Of measured times, or of other passes, nothing is said.
TEST(ChoiceByPass, SavesWhatTheLeastOfEachPassSumUpTo) {
  Comparison c = on("h100x8", 370);
  c.strategies = {timed("ring", 30), timed("usp", 28)};
  for (const auto& [s, times] : {std::pair(0, std::pair(10, 20)), std::pair(1, std::pair(14, 14))}) {
    c.strategies[s].by_layer.resize(2);
    c.strategies[s].by_layer[0].makespan_ns = times.first;
    c.strategies[s].by_layer[1].makespan_ns = times.second;
    c.strategies[s].by_layer[1].layer = 7;
  }
  EXPECT_DOUBLE_EQ(saved_by_pass(judged(c)).value_or(0), 1 - 24.0 / 28);
  EXPECT_EQ(by_pass_sentence(judged(c)), "The fastest strategy of each layer pass would save 14 % over usp in all.");
  Comparison measured = c;
  for (StrategyResult& s : measured.strategies) s.mode = RunMode::kProject;
  EXPECT_EQ(saved_by_pass(judged(measured)), std::nullopt);
  c.strategies[0].by_layer[1].layer = 8;
  EXPECT_EQ(by_pass_sentence(judged(c)), "");
}

// The second is 15 % slower: told apart where ratios are off by less than that.
TEST(Judgement, RanksNoDifferenceBelowTheErrorOfRatios) {
  for (const Comparison& c : {on("h100x8", 370), on("l40sx8", 22), on("local", 4)}) {
    const Judgement j = judged(c);
    ASSERT_TRUE(j.error.has_value());
    const bool clear = j.error->median < 0.15;
    EXPECT_EQ(j.lead == Lead::kClear, clear) << c.workload.cluster;
    EXPECT_EQ(j.winner() != nullptr, clear);
    EXPECT_EQ(j.ranked.front()->id, "usp");
  }
  Comparison measured = on("local", 4);
  for (StrategyResult& s : measured.strategies) s.mode = RunMode::kExecute;
  EXPECT_FALSE(judged(measured).error.has_value()) << "measured times have the spread of their repeats";
}

// Errors are those of whole layers: of attention alone a difference counts as a share of the layer.
TEST(Judgement, OfAttentionAloneIsThatOfItsLayers) {
  Comparison c = on("h100x8", 370);
  for (StrategyResult& s : c.strategies) s.by_layer.resize(2);
  ASSERT_EQ(judged(c).lead, Lead::kClear);
  c.cluster->rest_of_layer_ns = 130;  // 15 of 330, below the error
  EXPECT_EQ(judged(c).lead, Lead::kTooClose);
  EXPECT_EQ(judged(c).level, 2) << "30 of 330 are more";
  EXPECT_FALSE(judged(c).reason(c.strategies[2]).has_value());
}

TEST(Judgement, RowsAreSortedByTimeAndEachHasItsReason) {
  const Comparison c = on("h100x8", 370);
  const ModeGroup group = by_mode(c).front();
  EXPECT_EQ(group.strategies[0]->id, "usp");
  EXPECT_EQ(group.strategies[1]->id, "ulysses");
  EXPECT_EQ(group.strategies[2]->id, "ring");
  const Judgement j = judge(group);
  EXPECT_FALSE(j.reason(*group.strategies[0]).has_value());
  EXPECT_EQ(j.reason(*group.strategies[1])->difference_ns, 15);
  EXPECT_EQ(j.reason(*group.strategies[2])->difference_ns, 30);
  Comparison level = on("h100x8", 370), executed = level;
  level.strategies[2] = timed("ulysses", 104);  // within the error of the model
  EXPECT_FALSE(judged(level).reason(level.strategies[2]).has_value());
  for (StrategyResult& s : executed.strategies) s.mode = RunMode::kExecute;
  executed.strategies[2].makespan_spread_ns = 20;
  EXPECT_FALSE(judged(executed).reason(executed.strategies[2]).has_value()) << "within the spread of its repeats";
  EXPECT_TRUE(judged(executed).reason(executed.strategies[0]).has_value());
}

TEST(Judgement, NamesNoWinnerWhileANamedStrategyIsRefused) {
  Comparison c = on("h100x8", 370);
  c.strategies.push_back({});
  c.strategies.back().id = "usp-2";
  c.strategies.back().mode = RunMode::kSimulate;
  c.strategies.back().problems = {{ErrorCode::kStrategyIllegal, "", "2 x 2 is not 8", "", {}}};
  EXPECT_EQ(judged(c).winner(), nullptr);
  EXPECT_EQ(judged(c).refused.size(), 1u);
  c.strategies.back().pick.emplace();
  ASSERT_NE(judged(c).winner(), nullptr) << "of all that can run it is none";
  EXPECT_EQ(judged(c).winner()->id, "usp");
}

TEST(Judgement, AWinnerHoldsOverTheRangeOfTheNetwork) {
  Comparison c = on("h100x8", 370);
  for (StrategyResult& s : c.strategies)
    s.makespan_low_ns = *s.makespan_ns - 30, s.makespan_high_ns = *s.makespan_ns + 40;
  Judgement j = judged(c);
  EXPECT_EQ(j.lead, Lead::kClear);
  EXPECT_EQ(j.at_low->id, "usp");
  EXPECT_EQ(j.at_high->id, "usp");
  c.strategies[2].makespan_high_ns = 120;  // ulysses, of which less crosses sockets
  j = judged(c);
  EXPECT_EQ(j.lead, Lead::kDepends);
  EXPECT_EQ(j.winner(), nullptr);
  EXPECT_EQ(j.at_low->id, "usp");
  EXPECT_EQ(j.at_high->id, "ulysses");
}

TEST(Judgement, SaysWhereNoMeasurementSupportsADifference) {
  Comparison c = on("h100x8", 370);
  c.workload.density = 1;
  EXPECT_EQ(judged(c).unmeasured, "");
  Comparison sparse = c;
  sparse.workload.density = 0.3, sparse.strategies[1].name = "dbsp", sparse.strategies[2].name = "snake";
  EXPECT_EQ(judged(sparse).unmeasured,
            "db-SP measured attention with dbsp 1.35x as fast as with Ulysses on average; for its runs the model says "
            "1.17x (6 of 16 "
            "within 10 %, docs/accuracy.md). Nobody has published times of snake on sparse masks");
  c.strategies[2].terms.emplace();
  (*c.strategies[2].terms)[TimeTerm::kEndWait] = 115;
  EXPECT_EQ(judged(c).unmeasured, "") << "they differ in their transfers, too, and both are published";
  for (StrategyResult& s : c.strategies) s.name = "usp";
  EXPECT_NE(judged(c).unmeasured.find("balance"), std::string::npos);
  EXPECT_EQ(judged(on("local", 4)).unmeasured, "");
  Comparison nodes = on("ndr", 370, 2);
  EXPECT_NE(judged(nodes).unmeasured.find("several nodes"), std::string::npos);
  EXPECT_EQ(judged(nodes).assumed_moves, "");
  nodes.strategies[1].parameters.set("comm", std::string("one_sided"));
  EXPECT_NE(judged(nodes).assumed_moves.find("pulls and pushes of usp take the assumed times"), std::string::npos);
}

// Of dense masks snake deals heads out as Ulysses does: it is no second plan, and Ulysses' measurements are its own.
TEST(EqualPlans, AreOneAndNeedNoMeasurementOfTheirOwn) {
  Comparison c = on("h100x8", 370);
  c.workload.density = 1;
  c.strategies = {timed("ulysses", 10'000), timed("ring", 13'000), timed("snake", 10'000), timed("dbsp", 10'015)};
  c.strategies[3].label = "dbsp u8 refine";
  EXPECT_EQ(judged(c).unmeasured, "");
  const Comparison merged = without_equal_plans(c);
  ASSERT_EQ(merged.strategies.size(), 2u);
  EXPECT_EQ(merged.strategies[0].label, c.strategies[0].label + " = " + c.strategies[2].label + " = dbsp refine");
  EXPECT_EQ(own_label(merged.strategies[0]), c.strategies[0].label);
  c.strategies[2].makespan_ns = 9'900;
  EXPECT_EQ(without_equal_plans(c).strategies.size(), 3u);
  EXPECT_NE(judged(c).unmeasured.find("snake"), std::string::npos);
  c.strategies[2] = timed("usp", 10'000);
  EXPECT_EQ(without_equal_plans(c).strategies.size(), 2u) << "USP without a ring is Ulysses";
  c.strategies[2].bytes_sent = {1};
  EXPECT_EQ(without_equal_plans(c).strategies.size(), 3u) << "it sends otherwise";
  std::swap(c.strategies[0], c.strategies[3]);
  EXPECT_EQ(without_equal_plans(c).strategies[0].label, "ulysses = dbsp refine") << "in whatever order they come";
}

// As published_errors.def counts them; where few pairs are of as many GPUs, those of the same kind of link count.
TEST(PublishedErrors, SayHowOftenALeadWasRight) {
  EXPECT_EQ(lead_record(MachineKind::kNvlink, 4, 0.15),
            "a predicted lead of 10 to 20 % was right in 9 of 9 published pairs over NVLink on 3 to 4 GPUs");
  EXPECT_EQ(lead_record(MachineKind::kNvlink, 8, 0.06),
            "a predicted lead of 5 to 10 % was right in 2 of 2 published pairs over NVLink");
  EXPECT_EQ(lead_record(MachineKind::kPcie, 4, 0.06),
            "a predicted lead of 5 to 10 % was right in 3 of 7 published pairs over PCIe on 3 to 4 GPUs");
  EXPECT_EQ(lead_record(MachineKind::kPcie, 2, 0.3), "");
  EXPECT_EQ(lead_record(MachineKind::kNodes, 16, 0.06), "");
  EXPECT_EQ(
      time_record(MachineKind::kPcie, 8),
      "half of 48 published runs over PCIe on more than 4 GPUs were predicted within 13 % of their measured time");
  EXPECT_EQ(time_record(MachineKind::kNodes, 16),
            "no published run is on several nodes, so nobody knows how far off this time is (docs/accuracy.md)");
  EXPECT_EQ(time_record(MachineKind::kCpu, 2), "");
}

}  // namespace
}  // namespace spscope
