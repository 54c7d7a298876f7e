// Divisions of the ranks: the fastest, the one with most samples, and times that are those of single runs.
#include "backend/study/divisions.h"

#include <gmock/gmock.h>

#include "backend/study/seeds.h"

namespace spscope {
namespace {

Divisions two(std::int64_t latency_ns, double samples) {
  Divisions divisions;
  divisions.times = {{{1, 2}, 4, "dbsp u4", 100'000'000'000, 36}, {{4, 2}, 1, "ring r1", latency_ns, samples}};
  divisions.most_samples = samples > 36 ? 1 : 0;
  return divisions;
}

TEST(Divisions, SayWhichHasMostSamplesWhereThatIsMoreThanTheErrorOfRatios) {
  EXPECT_THAT(
      throughput_sentence(two(300'000'000'000, 48), 0.06),
      testing::HasSubstr("4 independent replicas on 2 GPUs each, with ring r1 and 2 guidance passes at once: 48.0 "
                         "samples an hour instead of 36.0, but each sample takes 300 s."));
  EXPECT_EQ(throughput_sentence(two(390'000'000'000, 37), 0.06), "");
  EXPECT_EQ(throughput_sentence(two(500'000'000'000, 28.8), 0.06), "");
  EXPECT_EQ(throughput_sentence({}, 0.06), "");
}

TEST(Divisions, ThatAreWithinTheErrorOfRatiosAreNamed) {
  EXPECT_EQ(tied_divisions_sentence(two(105'000'000'000, 36), 0.06),
            "Another division of the GPUs is too close to call: passes 2 at once on one GPU with ring r1 in 4 replicas "
            "(105 s).");
  EXPECT_EQ(tied_divisions_sentence(two(107'000'000'000, 36), 0.06), "");
  EXPECT_EQ(tied_divisions_sentence({}, 0.06), "");
}

TEST(Divisions, OneThatAnEngineRunsIsNamedWhereNoneRunsTheFastest) {
  Divisions divisions = two(150'000'000'000, 36);
  EXPECT_EQ(run_division_sentence(divisions) + run_division_sentence({}), "");
  divisions.times[0].no_engine = true;
  EXPECT_EQ(
      run_division_sentence(divisions),
      "Engines run another division of the GPUs: passes 2 at once on one GPU with ring r1 in 4 replicas (150 s).");
  // It is taken where it is as fast.
  prefer_run(divisions, 0.4);
  EXPECT_EQ(divisions.fastest, 0u);
  prefer_run(divisions, 0.6);
  EXPECT_EQ(divisions.fastest, 1u);
  divisions.fastest = 0;
  divisions.times[1].no_engine = true;
  EXPECT_EQ(run_division_sentence(divisions), "");
}

TEST(Divisions, ATableNeedsAChoice) {
  EXPECT_EQ(divisions_table(two(300'000'000'000, 48)).rows.size(), 2u);
  EXPECT_TRUE(divisions_table({}).rows.empty());
}

Job mini(const char* dp, const char* guidance) {
  return load_job({"",
                   {"ulysses", "ring"},
                   {"model.preset=wan-mini", "model.heads=8", "model.head_dim=24", "cluster.preset=h100x8",
                    "cluster.ranks=4", "mask.pattern=sparge", "run.mode=simulate", "run.scope=layer", "run.layers=2",
                    "run.output=", std::string("cluster.dp=") + dp, std::string("cluster.guidance=") + guidance}});
}

TEST(Divisions, AreTimedAsRunsOfTheirOwn) {
  const std::atomic<bool> stop = false;
  const QuietRun options{"test", stop, {}, {}};
  const std::vector<Job> jobs = {mini("1", "1"), mini("1", "2"), mini("2", "1")};
  const Divisions divisions = time_divisions(jobs, 2, options);
  ASSERT_EQ(divisions.times.size(), 3u);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Comparison alone = run_seeds(jobs[i], 2, options).together;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const StrategyResult& s : alone.strategies) least = std::min(least, *s.end_to_end_ns);
    const DivisionTime& t = divisions.times[i];
    EXPECT_NEAR(t.end_to_end_ns, least, 1);
    // Replicas each give one sample after that time.
    EXPECT_NEAR(t.samples_per_hour, t.setting.dp * 3600e9 / static_cast<double>(least), 1e-6 * t.samples_per_hour);
    EXPECT_GE(t.end_to_end_ns, divisions.times[divisions.fastest].end_to_end_ns);
    EXPECT_LE(t.samples_per_hour, divisions.times[divisions.most_samples].samples_per_hour);
  }
  // Two replicas, and two passes at once, leave a pass the same two ranks; only the passes are combined.
  EXPECT_EQ(divisions.times[1].ranks, divisions.times[2].ranks);
  EXPECT_EQ(divisions.times[1].best, divisions.times[2].best);
}

}  // namespace
}  // namespace spscope
