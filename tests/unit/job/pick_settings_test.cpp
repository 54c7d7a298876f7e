// What `all` stands for, against an exhaustive search over every candidate of every strategy.
#include "backend/job/pick_settings.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

struct Picked {
  Job job;
  std::vector<Request> samples;
  std::vector<ChosenStrategy> strategies;
};

// A small workload, so that the search takes no time.
Job small_job(std::vector<std::string> strategies, std::vector<std::string> settings) {
  settings.insert(settings.begin(), {"run.mode=simulate", "mask.block=16", "model.grid=4,12,12", "model.heads=12",
                                     "model.head_dim=16", "cluster.preset=a800x8"});
  return load_job({"", std::move(strategies), std::move(settings)});
}

std::unique_ptr<Picked> pick(std::vector<std::string> strategies, std::vector<std::string> settings) {
  auto picked = std::make_unique<Picked>();
  picked->job = small_job(std::move(strategies), std::move(settings));
  const ActivationSource activations(picked->job);
  MaskSource masks(picked->job, activations);
  picked->samples = sample_requests(picked->job, masks);
  picked->strategies = pick_settings(picked->job, picked->samples);
  return picked;
}

// Sum of the makespans over the samples.
std::int64_t total_ns(const Picked& p, const Strategy& strategy, const Parameters& parameters) {
  std::int64_t sum = 0;
  for (const Request& request : p.samples) {
    const Plan plan = make_plan(strategy, request, parameters);
    const ClusterPreset& preset = p.job.cluster.preset;
    const Network network = Network::of_cluster(preset, request.ranks, p.job.cluster.gpus_per_node);
    const HostTimes host = host_times(plan, preset.cost);
    sum += schedule(plan, op_durations(plan, preset.cost), network, host.issue_ns).makespan_ns();
  }
  return sum;
}

std::vector<std::string> ids(const std::vector<ChosenStrategy>& strategies) {
  std::vector<std::string> list;
  for (const ChosenStrategy& c : strategies) list.push_back(c.id);
  return list;
}

const ChosenStrategy& find(const Picked& p, const std::string& id) {
  return *std::ranges::find(p.strategies, id, &ChosenStrategy::id);
}

TEST(PickSettings, IsNeverMoreThanTwoPercentSlowerThanEveryCandidate) {
  constexpr double kMostRegret = 0.02;
  for (const char* pattern : {"sparge", "paro", "radial", "headwise", "chess", "dense"})
    for (const char* density : {"0.15", "0.5"})
      for (const char* scope : {"attention", "layer"}) {
        const auto p = pick({"all"}, {std::string("mask.pattern=") + pattern, std::string("mask.density=") + density,
                                      std::string("run.scope=") + scope, "run.layers=4"});
        ASSERT_EQ(p->samples.size(), 3u);
        int compared = 0;
        for (const ChosenStrategy& c : p->strategies) {
          ASSERT_TRUE(c.pick);
          if (c.pick->settings == 0) continue;
          const std::int64_t ns = total_ns(*p, *c.strategy, c.parameters);
          std::int64_t best_ns = ns;
          for (const Parameters& parameters : c.strategy->candidates(p->samples.front()))
            best_ns = std::min(best_ns, total_ns(*p, *c.strategy, parameters));
          EXPECT_EQ(c.pick->predicted_ns, ns / 3) << c.id;
          EXPECT_LE(static_cast<double>(ns), (1 + kMostRegret) * static_cast<double>(best_ns))
              << c.id << ", " << pattern << " " << density << " " << scope;
          ++compared;
        }
        EXPECT_GE(compared, 7);
      }
}

// dbsp that chooses its degrees for each layer decides here like one of fixed degrees on every sample, and could choose
// others on the layers that are none.
TEST(PickSettings, OfSettingsThatDecideAlikeTheOneOfFixedDegreesStays) {
  for (const char* seed : {"1", "2", "3"}) {
    const auto p = pick({"all"}, {"cluster.ranks=8", "mask.pattern=sparge", "mask.density=0.3", "run.layers=4",
                                  std::string("mask.seed=") + seed});
    const ChosenStrategy& dbsp = find(*p, "dbsp");
    EXPECT_GT(dbsp.parameters.integer("ulysses"), 0) << "seed " << seed;
  }
}

TEST(PickSettings, StandsForEveryStrategyButTheBaseline) {
  const auto p = pick({"all"}, {});
  EXPECT_THAT(ids(p->strategies),
              ::testing::ElementsAre("ulysses", "ring", "usp", "dbsp", "snake", "cyclic", "burst", "allgather_kv",
                                     "dsv", "dsp", "torus", "megatron_sp", "megatron_tp"));
  EXPECT_FALSE(has_unpicked(load_job({"", {"ring"}, {}})));
}

TEST(PickSettings, LeavesOutWhatIsAnotherStrategyOnSoFewRanks) {
  const auto two = pick({"all"}, {"cluster.ranks=2"});
  EXPECT_THAT(ids(two->strategies), ::testing::Not(::testing::Contains("usp")));
  const Job one = small_job({"all"}, {"cluster.ranks=1"});
  EXPECT_THAT(ids(one.strategies), ::testing::ElementsAre("single"));
}

TEST(PickSettings, AllIsOneNameAmongOthers) {
  const auto p = pick({"all", "usp:ulysses=2,ring=4"}, {});
  const std::vector<std::string> all = ids(p->strategies);
  ASSERT_EQ(std::ranges::count_if(p->strategies, [](const ChosenStrategy& c) { return !c.from_all; }), 1);
  EXPECT_FALSE(p->strategies.back().pick);
  // The same setting by name and by `all` is one row.
  const Parameters picked = find(*p, "usp").parameters;
  const auto again = pick({"all", "usp:" + picked.str()}, {});
  EXPECT_EQ(std::ranges::count(ids(again->strategies), "usp"), 1);
  EXPECT_THAT(ids(again->strategies), ::testing::Not(::testing::Contains("usp-2")));
  EXPECT_FALSE(find(*again, "usp").from_all);
}

TEST(PickSettings, TriesWhatTheConfigAndTheMaskLeaveOpen) {
  const auto given = pick({"all"}, {"strategy.usp.ulysses=2", "strategy.ring.order=contiguous"});
  EXPECT_EQ(find(*given, "usp").parameters.integer("ulysses"), 2);
  EXPECT_EQ(find(*given, "ring").parameters.text("order"), "contiguous");
  EXPECT_EQ(find(*given, "ring").pick->settings, 1);
  const auto dense = pick({"all"}, {"mask.pattern=dense"});  // orders make no difference
  EXPECT_EQ(find(*dense, "ring").pick->settings, 1);
  EXPECT_TRUE(find(*dense, "ring").pick->next_label.empty());
  const auto sparse = pick({"all"}, {"mask.density=0.3"});
  const StrategyPick& usp = *find(*sparse, "usp").pick;
  EXPECT_EQ(usp.settings, 4);  // two meshes in two orders
  ASSERT_FALSE(usp.next_label.empty());
  EXPECT_GE(usp.next_ns, usp.predicted_ns);
}

}  // namespace
}  // namespace spscope
