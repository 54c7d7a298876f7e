// What-ifs: the text, the numbers that change, and what that does to times that can be worked out by hand.
#include "backend/study/what_if.h"

#include <gmock/gmock.h>

#include "backend/study/quiet_run.h"

namespace spscope {
namespace {

TEST(WhatIf, ReadsFactorsAndADensity) {
  const WhatIf what_if = parse_what_if("link=0.5,nic=2,latency=3,kernel=1.2,gemm=1.5,memory=4,density=0.2");
  const ClusterFactors expected{0.5, 2, 3, 1.2, 1.5, 4};
  EXPECT_EQ(what_if.factors, expected);
  EXPECT_EQ(what_if.density, 0.2);
}

TEST(ScaledCluster, ChangesTheNumbersThatItNamesAndSaysSo) {
  const ClusterPreset& h100 = *find_cluster_preset("h100x8");
  const ClusterPreset other = scaled(h100, parse_what_if("link=0.5,kernel=2,latency=3").factors);
  EXPECT_DOUBLE_EQ(other.network.link_gbps, 0.5 * h100.network.link_gbps);
  EXPECT_DOUBLE_EQ(other.network.intra_latency_ns, 3 * h100.network.intra_latency_ns);
  EXPECT_DOUBLE_EQ(other.network.nic_gbps, h100.network.nic_gbps);
  EXPECT_DOUBLE_EQ(other.cost.attend_ns(10, 1000, 128), h100.cost.attend_ns(10, 1000, 128) / 2);
  EXPECT_DOUBLE_EQ(other.cost.gemm_ns_per_flop, h100.cost.gemm_ns_per_flop);
  EXPECT_EQ(other.network.provenance, Provenance::kAssumed);
  EXPECT_THAT(other.sources.at("network.link_gbps"), testing::HasSubstr("times 0.5, a what-if"));
  EXPECT_EQ(scaled(h100, {}), h100);
}

// All-to-alls of Ulysses on even masks are bytes over the rate of the link, and nothing else of the makespan depends on
// it.
TEST(ScaledCluster, HalfTheLinkTakesTheBytesTwiceAsLong) {
  const Job job = load_job({"",
                            {"ulysses"},
                            {"run.mode=simulate", "cluster.preset=h100x8", "cluster.ranks=4", "mask.pattern=dense",
                             "model.preset=wan2.1-t2v-14b", "mask.block=256", "run.layers=1"}});
  const std::atomic<bool> stop = false;
  const QuietRun options{"test", stop};
  const Comparison now = comparison_of(job, options),
                   then = comparison_of(supposed(job, parse_what_if("link=0.5,latency=1")), options);
  const StrategyResult &before = now.strategies.front(), &after = then.strategies.front();
  // 4 tensors, each rank sends three quarters of its share of 75,600 x 5120 bf16 in one all-to-all, far above its
  // floor.
  const double bytes = 4.0 * (75600.0 * 5120 * 2 / 4) * 3 / 4;
  const double more_ns = bytes / job.cluster.preset.network.all_to_all.gbps;
  EXPECT_NEAR(static_cast<double>(*after.makespan_ns - *before.makespan_ns), more_ns, 0.01 * more_ns + 8);
  EXPECT_EQ(before.times.compute_ns, after.times.compute_ns);
  EXPECT_EQ(before.bytes_sent, after.bytes_sent);
}

TEST(WhatIf, SaysWhetherAnotherOneIsFastest) {
  Comparison now, then;
  for (const char* id : {"ulysses", "ring"}) {
    StrategyResult s;
    s.id = s.name = s.label = id;
    s.mode = RunMode::kSimulate;
    s.provenance = RunProvenance{Source::kModelled, Source::kModelled, Timing::kClean};
    s.makespan_ns = s.id == "ring" ? 200 : 100;
    now.strategies.push_back(s);
    s.makespan_ns = s.id == "ring" ? 150 : 300;
    then.strategies.push_back(s);
  }
  const WhatIf what_if = parse_what_if("link=0.1");
  const auto said = [&](const Comparison& a, const Comparison& b) {
    return std::get<Paragraph>(what_if_section(a, b, what_if).blocks.back()).text;
  };
  EXPECT_EQ(said(now, then), "With link=0.1, ring is fastest in place of ulysses, by 100 %.");
  EXPECT_EQ(said(now, now), "With link=0.1, ulysses stays fastest.");
  // A new first within the error of ratios changes nothing.
  Comparison close = now;
  close.strategies[1].makespan_ns = 99;
  EXPECT_EQ(
      said(now, close).find("With link=0.1, ring comes first. Too close to call: ulysses is slower by less than "), 0u)
      << said(now, close);
  // Why its time changes names it once: the other time is its own.
  for (Comparison* c : {&now, &then}) {
    c->strategies[0].terms.emplace();
    (*c->strategies[0].terms)[TimeTerm::kWireInside] = *c->strategies[0].makespan_ns;
    c->strategies[0].bytes_sent_intra_node = {4096};
  }
  EXPECT_EQ(
      said(now, then),
      "With link=0.1 ulysses takes 200 ns more: 300 ns of its transfers inside nodes are exposed instead of 100 ns.");
  // The table begins with the fastest as it is, and has the change of a layer.
  const Table table = std::get<Table>(what_if_section(then, now, what_if).blocks.front());
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].cells[0].text, "ring");
  EXPECT_EQ(table.rows[0].cells[3].text, "+33.3 %");
  EXPECT_TRUE(table.rows[1].best);
}

}  // namespace
}  // namespace spscope
