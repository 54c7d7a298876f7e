#include "backend/analysis/trust.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

StrategyResult measured() {
  StrategyResult s;
  s.label = "ring r2";
  s.mode = RunMode::kProject;
  s.provenance = RunProvenance{Source::kMeasured, Source::kModelled, Timing::kClean};
  s.makespan_ns = 1000;
  s.makespan_spread_ns = 100;
  s.compute_deviation = 0.25;
  return s;
}

// Means 60 and 4: rank 1 took 80 / 60 for 3 / 4 of the mean of tiles.
TEST(ComputeDeviation, IsTheLargestDistanceOfTimeAndTiles) {
  EXPECT_NEAR(*compute_deviation({40, 80}, {5, 3}), 80.0 / 60 - 3.0 / 4, 1e-12);
  EXPECT_NEAR(*compute_deviation({50, 30}, {5, 3}), 0, 1e-12);
  EXPECT_FALSE(compute_deviation({50}, {5}).has_value());
  EXPECT_FALSE(compute_deviation({}, {5, 3}).has_value());
  EXPECT_FALSE(compute_deviation({0, 0}, {5, 3}).has_value());
}

TEST(Disturbance, IsSeenBeyondItsLimitsOnly) {
  EXPECT_EQ(disturbance(measured()), "") << "exactly at both limits";
  StrategyResult s = measured();
  s.compute_deviation = 0.38;
  EXPECT_EQ(disturbance(s), "a rank of ring r2 was 38 % off the time its work should take (limit 25 %)");
  s = measured();
  s.makespan_spread_ns = 140;
  EXPECT_EQ(disturbance(s), "repeats of ring r2 spread by 14 % (limit 10 %)");
}

TEST(Disturbance, NeedsMeasuredComputeOfCleanTiming) {
  StrategyResult s = measured();
  s.compute_deviation = 3;
  s.provenance->timing = Timing::kOversubscribed;
  EXPECT_EQ(disturbance(s), "");
  s = measured();
  s.makespan_spread_ns = 900;
  s.provenance->compute = Source::kModelled;
  EXPECT_EQ(disturbance(s), "");
}

TEST(ForeignCompute, IsFarFromTheCostModelOfAnotherMachine) {
  Workload w;
  w.cluster = "a800x8";
  StrategyResult s = measured();
  EXPECT_FALSE(foreign_compute(s, w)) << "not known";
  for (const auto& [scale, foreign] : {std::pair{1.9, false}, {2.1, true}, {0.6, false}, {0.4, true}}) {
    s.compute_scale = scale;
    EXPECT_EQ(foreign_compute(s, w), foreign) << scale;
  }
  w.cluster = "local";
  EXPECT_FALSE(foreign_compute(s, w)) << "its network is this machine's too";
}

}  // namespace
}  // namespace spscope
