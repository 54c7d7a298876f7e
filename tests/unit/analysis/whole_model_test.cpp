// What is read from layer passes: the whole model, the slowest pass, and how each changed.
#include "backend/analysis/whole_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/analysis/layer_spread.h"
#include "backend/analysis/pass_changes.h"
#include "backend/analysis/slowest_pass.h"
#include "backend/config/model.h"

namespace spscope {
namespace {

// A simulated strategy whose layer passes took these times, of layers by number.
StrategyResult simulated(const std::vector<std::pair<int, std::int64_t>>& passes) {
  StrategyResult s;
  s.provenance = RunProvenance{Source::kModelled, Source::kModelled, Timing::kClean};
  s.makespan_ns = 0;
  for (const auto& [layer, ns] : passes) {
    LayerResult pass;
    pass.layer = layer;
    pass.makespan_ns = ns;
    s.by_layer.push_back(pass);
    *s.makespan_ns += ns;
  }
  return s;
}

Workload workload_of(const char* model, int layers, int passes) {
  Workload w;
  w.model = model;
  w.model_denoise_steps = find_model_preset(model)->denoise_steps;
  w.model_layers = layers;
  w.forward_passes = passes;
  return w;
}

// 2 of 40 layers took 400 and 600 ns; 50 denoise steps of 2 passes: 500 x 40 x 50 x 2. The standard deviation of the
// two is sqrt(20000), so that the sum of 40 is off by 40 x sqrt((1 - 2/40) x 20000 / 2).
TEST(WholeModel, ScalesTheLayersThatRan) {
  StrategyResult s = simulated({{3, 400}, {30, 600}});
  Workload w = workload_of("wan2.1-t2v-14b", 40, 2);
  const std::optional<WholeModel> whole = whole_model(s, w);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->latency_ns, 2'000'000);
  EXPECT_EQ(whole->spread_ns, std::llround(50 * 2 * 40 * std::sqrt((1 - 2.0 / 40) * 20000 / 2)));
  EXPECT_DOUBLE_EQ(whole->samples_per_hour, 3600e9 / 2'000'000);
  s.provenance->timing = Timing::kOversubscribed;
  EXPECT_FALSE(whole_model(s, w)) << "ranks that share cores say nothing of a generation";
  s.provenance->timing = Timing::kClean;
  w.model_denoise_steps.reset();
  EXPECT_FALSE(whole_model(s, w)) << "nobody's model";
}

// HunyuanVideo: 20 double-stream layers, then 40 single-stream ones. 2 of the first took 900, 4 of the second 300: the
// mean of all six would be 500 x 60 = 30,000 a pass.
TEST(WholeModel, WeighsEachKindOfBlockByItsLayers) {
  const StrategyResult s = simulated({{5, 900}, {15, 900}, {25, 300}, {35, 300}, {45, 300}, {55, 300}});
  const std::optional<WholeModel> whole = whole_model(s, workload_of("hunyuanvideo", 60, 1));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->latency_ns, 50 * (20 * 900 + 40 * 300));
  EXPECT_EQ(whole->spread_ns, 0) << "layers of one kind took the same time";
}

TEST(WholeModel, SpreadIsZeroWhenAllLayersRanAndUnknownOfOne) {
  std::vector<std::pair<int, std::int64_t>> all;
  for (int layer = 0; layer < 4; ++layer) all.emplace_back(layer, 100 + layer);
  EXPECT_EQ(whole_model(simulated(all), workload_of("wan-mini", 4, 1))->spread_ns, 0);
  EXPECT_FALSE(whole_model(simulated({{0, 100}}), workload_of("wan-mini", 4, 1))->spread_ns);
  EXPECT_FALSE(whole_model(simulated({{0, 100}, {1, 100}}), workload_of("hunyuanvideo", 60, 1))->spread_ns)
      << "no single-stream layer ran";
}

TEST(LayerSpread, IsTheExtremesAndTheDeviation) {
  EXPECT_FALSE(over_layers(std::vector<double>{3}));
  const std::optional<OverLayers> spread = over_layers(std::vector<double>{2, 4, 9});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->min, 2);
  EXPECT_EQ(spread->max, 9);
  EXPECT_DOUBLE_EQ(spread->stddev, std::sqrt((9.0 + 1 + 16) / 2));
}

// Passes are compared with the same ones of the baseline, whatever their order.
TEST(LayerSpread, SpeedUpsAreOfTheSamePass) {
  std::vector<StrategyResult> list = {simulated({{1, 100}, {2, 300}}), simulated({{2, 150}, {1, 100}})};
  list[0].speedup = 1, list[1].speedup = 1.6;
  set_speedup_spread(list);
  ASSERT_TRUE(list[1].over_layers.speedup);
  EXPECT_DOUBLE_EQ(list[1].over_layers.speedup->min, 1);
  EXPECT_DOUBLE_EQ(list[1].over_layers.speedup->max, 2);
  EXPECT_DOUBLE_EQ(list[0].over_layers.speedup->max, 1);
}

// Text encoder, VAE and saving of a run, and what surrounds the layers of each of 50 denoise steps.
TEST(EndToEnd, OutsideOfTheLayersIsOfWholeLayersOnly) {
  ClusterPreset cluster;
  cluster.outside = {Provenance::kFitted, 7000, 20};
  Workload w;
  w.scope = "layer";
  w.model_denoise_steps = 50;
  EXPECT_FALSE(outside_layers_ns(w, cluster).has_value()) << "the cluster does not say it";
  cluster.sources["outside.per_run_ns"] = "worked here";
  EXPECT_EQ(outside_layers_ns(w, cluster), 8000);
  w.scope = "attention";
  EXPECT_FALSE(outside_layers_ns(w, cluster).has_value());
}

LayerResult pass(int layer, int denoise_step, std::optional<std::int64_t> makespan_ns) {
  LayerResult result;
  result.layer = layer, result.denoise_step = denoise_step, result.makespan_ns = makespan_ns;
  return result;
}

TEST(PassChanges, AreOfPassesOfWhichBothHaveTimes) {
  StrategyResult from, to;
  from.by_layer = {pass(0, 0, 100), pass(1, 0, 200), pass(0, 1, 50), pass(1, 1, {}), pass(2, 1, 0)};
  to.by_layer = {pass(2, 1, 7), pass(0, 1, 25), pass(0, 0, 130), pass(1, 1, 9), pass(1, 0, {})};
  const std::vector<PassChange> changes = pass_changes(from, to);
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].from_ns, 100);
  EXPECT_EQ(changes[0].change_ns, 30);
  EXPECT_DOUBLE_EQ(*changes[0].ratio, 1.3);
  EXPECT_EQ(changes[1].denoise_step, 1);
  EXPECT_EQ(changes[1].change_ns, -25);
  EXPECT_DOUBLE_EQ(*changes[1].ratio, 0.5);
  EXPECT_EQ(changes[2].layer, 2);
  EXPECT_EQ(changes[2].change_ns, 7);
  EXPECT_FALSE(changes[2].ratio);
}

// The longest single time is that of layer 0, the longest sum that of layer 1.
TEST(SlowestPass, IsOfAllStrategiesTogether) {
  StrategyResult a, b;
  a.by_layer = {pass(0, 0, 100), pass(1, 0, 80), pass(0, 1, 10)};
  b.by_layer = {pass(0, 0, 10), pass(1, 0, 60), pass(0, 1, 10)};
  const std::vector<const StrategyResult*> both = {&a, &b}, one = {&a};
  EXPECT_EQ(slowest_pass(both), (PassPlace{.denoise_step = 0, .layer = 1}));
  EXPECT_EQ(slowest_pass(one), (PassPlace{.denoise_step = 0, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = 0, .denoise_step = {}}), (PassPlace{.denoise_step = 0, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = {}, .denoise_step = 1}), (PassPlace{.denoise_step = 1, .layer = 0}));
  EXPECT_EQ(slowest_pass(both, {.layer = 1, .denoise_step = 1}), std::nullopt);
  EXPECT_EQ(slowest_pass({}), std::nullopt);
}

TEST(SlowestPass, IsTheFirstWhereTimesSayNothing) {
  StrategyResult a;
  a.by_layer = {pass(1, 1, {}), pass(3, 0, {}), pass(2, 0, {})};
  const std::vector<const StrategyResult*> planned = {&a};
  EXPECT_EQ(slowest_pass(planned), (PassPlace{.denoise_step = 0, .layer = 2}));
}

}  // namespace
}  // namespace spscope
