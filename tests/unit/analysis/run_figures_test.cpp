#include "backend/analysis/run_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/analysis/comparison.h"
#include "backend/base/rng.h"
#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

std::vector<RepeatRecord> repeats(std::initializer_list<std::int64_t> makespans_ns) {
  std::vector<RepeatRecord> list;
  for (std::int64_t ns : makespans_ns) list.push_back({.repeat = static_cast<int>(list.size()), .makespan_ns = ns});
  return list;
}

TEST(MedianRepeat, IsARepeatThatHappened) {
  EXPECT_EQ(median_repeat(repeats({132, 120, 124}))->repeat, 2);
  EXPECT_EQ(median_repeat(repeats({132, 120, 124, 200}))->makespan_ns, 124) << "the faster of the two in the middle";
  EXPECT_FALSE(median_repeat({}).has_value());
}

TEST(RunFigures, AMakespanBeginsWhereThePassBeforeEndedOrAtTheFirstPost) {
  Timeline timeline;
  timeline.ops = {{800, 900, 1000}, {850, 850, 3100}};
  const RepeatRecord repeat{.makespan_ns = 2300, .lead_ns = 40};
  EXPECT_EQ(makespan_begin_ns(timeline, {Source::kMeasured, Source::kMeasured}, repeat), 800);
  EXPECT_EQ(makespan_begin_ns(timeline, {Source::kModelled, Source::kModelled}, repeat), 40);
  EXPECT_EQ(makespan_begin_ns({}, {Source::kMeasured, Source::kMeasured}, repeat), 0);
}

// Sorted 120, 124, 132: the quartiles lie half way, at 122 and 128.
TEST(SpreadOfRepeats, IsHalfTheDistanceOfTheQuartiles) {
  EXPECT_EQ(half_interquartile_range(repeats({132, 120, 124})), 3);
  EXPECT_FALSE(half_interquartile_range(repeats({120})).has_value());
}

StoredRun run_of(int layer, std::int64_t makespan_ns) {
  StoredRun run;
  run.record.layer = layer;
  run.record.verdict = Verdict::kPassed;
  run.record.max_error = 1e-6;
  run.record.bound_ns = 80;
  run.record.tiles = 8;
  run.record.moved_fraction = layer == 0 ? 0 : 0.5;
  run.record.parameter_bytes = 100;
  run.usage = {{0, 5, 40, 16, 1, 17, 1, 200, 300, true}, {1, 3, 24, 17, 0, 16, 1, 150 + layer * 100, 300, true}};
  run.traffic = {{0, 1, "k", 1, 8}, {1, 0, "k", 1, 8}, {0, 1, "v", 1, 9}};
  run.repeats = repeats({makespan_ns, makespan_ns + 4, makespan_ns + 12});
  run.imbalance = ImbalanceRatios{1.25, 1.5, 1.5, 1.25 + layer};
  run.times.compute_ns = {46, 90};
  run.times.wait_late_peer_ns = {4, 0};
  run.times.wire_ns = {40, 20};
  run.times.other_ns = {30, 10};
  run.times.exposed_comm_ns = {44, 20};
  run.attention_ns = {36, 80};
  return run;
}

StrategyResult both_layers() {
  const StoredRun runs[] = {run_of(0, 120), run_of(1, 220)};
  return summarize({}, runs);
}

// Layer passes that vary on their own: the sum of 36 varies 6 times as much as one.
// Of two in opposite orders each repeat sums up to the same.
TEST(Summary, SpreadIsOfSumsOverLayersAndNotTheSumOfSpreads) {
  const auto with = [](int layer, std::vector<std::int64_t> makespans) {
    StoredRun run = run_of(layer, 0);
    run.repeats.clear();
    for (const std::int64_t ns : makespans)
      run.repeats.push_back({.repeat = static_cast<int>(run.repeats.size()), .makespan_ns = ns});
    return run;
  };
  const StoredRun opposite[] = {with(0, {0, 10, 20, 30}), with(1, {30, 20, 10, 0})};
  EXPECT_EQ(summarize({}, opposite).makespan_spread_ns, 0);
  Rng rng(3);
  std::vector<StoredRun> many;
  for (int layer = 0; layer < 36; ++layer) {
    std::vector<std::int64_t> makespans;
    for (int repeat = 0; repeat < 101; ++repeat) makespans.push_back(1'000'000 + rng.below(1000));
    many.push_back(with(layer, makespans));
  }
  // Uniform over 1,000: standard deviation 289 each, 289 x 6 of the sum; half the interquartile range is 0.674 of it.
  EXPECT_NEAR(static_cast<double>(*summarize({}, many).makespan_spread_ns), 0.674 * 289 * 6, 350);
}

TEST(Summary, TimesAddUpOverLayers) {
  const StrategyResult s = both_layers();
  EXPECT_EQ(s.makespan_ns, 124 + 224);
  EXPECT_EQ(s.makespan_spread_ns, 3 + 3);
  EXPECT_EQ(s.bound_ns, 160);
  EXPECT_EQ(s.attention_ns, 160) << "the slowest rank's";
  EXPECT_EQ(s.times.compute_ns, (std::vector<std::int64_t>{92, 180}));
  EXPECT_EQ(s.repeats, 3);
}

// 121 at the fast end and 150 at the slow one; the other layer, which no range concerns, takes 224 at both.
TEST(Summary, ARangeAddsUpOverLayersThatHaveOneOrNone) {
  std::vector<StoredRun> runs = {run_of(0, 120), run_of(1, 220)};
  EXPECT_FALSE(summarize(StrategyRecord(), runs).makespan_low_ns.has_value());
  runs[0].record.makespan_low_ns = 121;
  runs[0].record.makespan_high_ns = 150;
  const StrategyResult s = summarize(StrategyRecord(), runs);
  EXPECT_EQ(s.makespan_low_ns, 121 + 224);
  EXPECT_EQ(s.makespan_high_ns, 150 + 224);
}

TEST(Summary, BytesAddUpAndMemoryDoesNot) {
  const StrategyResult s = both_layers();
  EXPECT_EQ(s.bytes_sent, (std::vector<std::int64_t>{34, 34}));
  EXPECT_EQ(s.bytes_sent_inter_node, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(s.bytes_received, (std::vector<std::int64_t>{34, 32}));
  EXPECT_EQ(s.bytes_by_tensor.at("k"), 32);
  EXPECT_EQ(s.bytes_by_tensor.at("v"), 18);
  EXPECT_EQ(s.messages, 4);
  EXPECT_TRUE(s.bytes_counted);
  EXPECT_EQ(s.memory_peak_bytes, (std::vector<std::int64_t>{200, 250}));
}

TEST(Summary, WeightsOfALayerCountOnceHoweverManyDenoiseSteps) {
  StoredRun again = run_of(0, 120);
  again.record.denoise_step = 1;
  const StoredRun runs[] = {run_of(0, 120), again, run_of(1, 120)};
  EXPECT_EQ(summarize({}, runs).parameter_bytes, 200);
}

TEST(Summary, TheWorstVerdictSpeaks) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 120)};
  EXPECT_EQ(summarize({}, runs).verify, "passed");
  runs[1].record.verdict = Verdict::kSkipped;
  EXPECT_EQ(summarize({}, runs).verify, "skipped");
  runs[0].record.verdict = Verdict::kFailed;
  EXPECT_EQ(summarize({}, runs).verify, "failed");
}

TEST(Summary, NaNIsTheLargestError) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 120)};
  runs[0].record.max_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(*summarize({}, runs).max_error));
  runs[0].record.max_error = 1e-9;
  EXPECT_DOUBLE_EQ(*summarize({}, runs).max_error, 1e-6);
}

TEST(Summary, WhatDidNotRunHasNoNumbers) {
  const StrategyResult s = summarize({}, {});
  EXPECT_FALSE(s.makespan_ns || s.imbalance_ratio || s.tiles || s.messages || s.planning_ns || s.provenance);
  EXPECT_TRUE(s.bytes_sent.empty() && s.times.compute_ns.empty() && s.by_layer.empty());
}

TEST(Summary, ATimeThatOneLayerLacksIsNotASum) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 120)};
  runs[1].repeats.clear();
  runs[1].times = {};
  const StrategyResult s = summarize({}, runs);
  EXPECT_FALSE(s.makespan_ns.has_value());
  EXPECT_TRUE(s.times.compute_ns.empty());
}

TEST(Summary, OneModelledLayerMakesTheWholeModelled) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 120)};
  runs[1].record.provenance.network = Source::kModelled;
  EXPECT_EQ(summarize({}, runs).provenance->network, Source::kModelled);
}

TEST(TimelineFigures, MustFitTheirPlan) {
  const Request request = testing::two_rank_request();
  const Plan plan = testing::two_rank_ring(request);
  Timeline timeline = testing::two_rank_times(plan);
  timeline.ops.pop_back();
  StoredRun run;
  EXPECT_THROW(add_timeline(run, plan, timeline), Error);
}

// Two layers of 46 + 90 ns of compute that a profile makes 34 and 100 ns: 272 / 134. Attention is 36 : 80 where tiles
// are 5 : 3, in units of the mean 0.62 where they are 1.25.
TEST(Trust, ComputeIsHeldAgainstTheCostProfileAndTheTiles) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 220)};
  StrategyRecord projected;
  projected.mode = RunMode::kProject;
  EXPECT_FALSE(summarize(projected, runs).compute_scale.has_value()) << "no profile is kept";
  runs[0].modelled_compute_ns = 34;
  EXPECT_FALSE(summarize(projected, runs).compute_scale.has_value()) << "one layer has none";
  runs[1].modelled_compute_ns = 100;
  EXPECT_DOUBLE_EQ(*summarize(projected, runs).compute_scale, 272.0 / 134.0);
  EXPECT_FALSE(summarize({}, runs).compute_scale.has_value()) << "an executed run has the network of its machine";
  EXPECT_NEAR(*summarize(projected, runs).compute_deviation, 1.25 - 36.0 / 58.0, 1e-12);
  for (StoredRun& run : runs) run.record.provenance.compute = Source::kModelled;
  EXPECT_FALSE(summarize(projected, runs).compute_scale || summarize(projected, runs).compute_deviation);
}

TEST(Trust, LayersNameTheirSlowestRank) {
  StoredRun runs[] = {run_of(0, 120), run_of(1, 220)};
  runs[1].times = {};
  const StrategyResult s = summarize({}, runs);
  EXPECT_EQ(s.by_layer[0].slowest_rank, 1) << "by compute, 90 of 46 + 90 ns";
  EXPECT_NEAR(*s.by_layer[0].slowest_excess, 90.0 / 68.0 - 1, 1e-12);
  EXPECT_EQ(s.by_layer[1].slowest_rank, 0) << "by tiles, 5 of 5 + 3";
  EXPECT_DOUBLE_EQ(*s.by_layer[1].slowest_excess, 0.25);
}

StrategyResult timed(std::int64_t makespan_ns, RunMode mode = RunMode::kProject) {
  StrategyResult s;
  s.mode = mode;
  s.makespan_ns = makespan_ns;
  s.provenance = RunProvenance{};
  return s;
}

TEST(SpeedUp, IsOverUlyssesOfTheMode) {
  StrategyResult illegal;
  illegal.problems = {{ErrorCode::kStrategyIllegal, "", "one head", "", {}}};
  illegal.mode = RunMode::kProject;
  std::vector<StrategyResult> list = {illegal, timed(100, RunMode::kExecute), timed(300), timed(200)};
  list[3].name = "ulysses";
  set_speedups(list);
  EXPECT_FALSE(list[0].speedup.has_value());
  EXPECT_DOUBLE_EQ(*list[1].speedup, 1);
  EXPECT_DOUBLE_EQ(*list[2].speedup, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*list[3].speedup, 1);
}

}  // namespace
}  // namespace spscope
