// Strategies that a cluster's memory cannot hold: what they say, what would fit, and that weights are cut where
// Megatron cuts them.
#include "backend/job/fitting_plan.h"

#include <gtest/gtest.h>

#include "backend/config/model_size.h"
#include "backend/job/job_layers.h"
#include "backend/job/weight_gather.h"

namespace spscope {
namespace {

// What try_plan_fitting() gives for the first layer.
struct Tried {
  Job job;
  std::optional<Error> error;
  MemoryNeed memory;
};

Tried tried(const std::string& strategy, std::vector<std::string> settings) {
  JobFlags flags;
  flags.settings = std::move(settings);
  flags.settings.insert(flags.settings.end(), {"mask.pattern=dense", "run.mode=simulate"});
  flags.strategies = {strategy};
  Tried result{load_job(flags), {}, {}};
  const Job& job = result.job;
  const ActivationSource activations(job);
  const MaskSource masks(job, activations);
  for_each_layer(job, masks, [&](const LayerOfJob& where) {
    const Result<PlannedLayer> planned = try_plan_fitting(job, job.strategies[0], where.request, where.decisions[0]);
    if (planned)
      result.memory = planned->memory;
    else
      result.error = planned.error();
    return false;
  });
  return result;
}

// 14.28e9 parameters in bf16 are 26.6 GiB. Sharded ones are parted over the 8 GPUs of both guidance passes.
TEST(FittingPlan, HoldsAllWeightsUnlessTheyAreCut) {
  const std::vector<std::string> wan = {"model.preset=wan2.1-t2v-14b", "model.grid=[2,8,8]", "cluster.preset=h100x8",
                                        "run.scope=layer"};
  const Tried ring = tried("ring", wan), megatron = tried("megatron_sp", wan);
  ASSERT_FALSE(ring.error) << ring.error->what();
  ASSERT_FALSE(megatron.error) << megatron.error->what();
  const ModelSize size = model_size(ring.job.model);
  for (const RankMemory& rank : ring.memory.ranks) EXPECT_EQ(rank.weights, 2 * size.total());
  for (const RankMemory& rank : megatron.memory.ranks)
    EXPECT_EQ(rank.weights, 2 * (size.attention / 8 + size.ffn / 8 + size.modulation + size.outside));
  std::vector<std::string> sharded = wan;
  sharded.insert(sharded.end(), {"run.weights=sharded", "cluster.guidance=2"});
  for (const RankMemory& rank : tried("ring", sharded).memory.ranks)
    EXPECT_EQ(rank.weights, 2 * ((size.total() + 7) / 8 + 2 * size.largest_layer + size.outside));
}

// 7 of 8 parts of a layer through the port of a rank, though a pass has 4 of the 8 ranks; over 2 nodes half of it
// through a NIC of 1 GB/s takes longer.
TEST(WeightGather, TakesWhatTheOthersHoldAtTheAllGatherRate) {
  JobFlags flags;
  flags.strategies = {"ring"};
  flags.settings = {"model.preset=wan2.1-t2v-14b", "cluster.preset=l20x8", "cluster.guidance=2", "run.mode=simulate"};
  Job job = load_job(flags);
  EXPECT_EQ(gather_note(job), "");
  const ModelSize size = model_size(job.model);
  const WeightGather inside = weight_gather(job);
  const CollectiveCurve& curve = job.cluster.preset.network.all_gather;
  EXPECT_EQ(inside.layer_bytes, 2 * (size.attention + size.ffn + size.modulation) / 40);
  const auto bytes = static_cast<double>(inside.layer_bytes);
  EXPECT_NEAR(inside.layer_ns, curve.t0_ns + bytes * 7 / 8 / curve.gbps, 1);

  job.cluster.nodes = 2;
  job.cluster.gpus_per_node = 4;
  job.cluster.preset.network.nic_gbps = 1;
  EXPECT_NEAR(weight_gather(job).layer_ns, job.cluster.preset.network.inter_latency_ns + bytes / 2, curve.t0_ns);

  flags.settings.emplace_back("run.weights=sharded");
  EXPECT_EQ(gather_note(load_job(flags)), "Not included: gathering the sharded weights, " + gather_text(inside) +
                                              ". Strategies that cut weights gather less.");
}

// 40 heads on 16 ranks: 3 heads at some, 2 at others.
TEST(FittingPlan, CutsWeightsAsUnevenlyAsHeads) {
  const Tried megatron = tried("megatron_tp", {"model.preset=wan2.1-t2v-14b", "model.grid=[2,8,8]", "run.scope=layer",
                                               "cluster.preset=ndr-h100-xN", "cluster.ranks=16"});
  ASSERT_FALSE(megatron.error) << megatron.error->what();
  const ModelSize size = model_size(megatron.job.model);
  std::int64_t heads = 0;
  for (const RankMemory& rank : megatron.memory.ranks) {
    const std::int64_t attention = rank.weights / 2 - size.ffn / 16 - size.modulation - size.outside;
    heads += attention * 40 / size.attention;
    EXPECT_TRUE(attention * 40 == 2 * size.attention || attention * 40 == 3 * size.attention);
  }
  EXPECT_EQ(heads, 40);
}

// Weights alone fill a device of 44.5 GiB in fp32; half of them at each rank do not.
TEST(FittingPlan, RefusalNamesShardedWeights) {
  const Tried ring =
      tried("ring", {"model.preset=wan2.1-t2v-14b", "model.grid=[2,8,8]", "cluster.preset=l40sx8", "run.dtype=fp32"});
  ASSERT_TRUE(ring.error);
  EXPECT_EQ(ring.error->code(), ErrorCode::kMemoryNeed);
  EXPECT_NE(std::string(ring.error->what()).find("needs 55.7 of 44.5 GiB, at rank 0: 0.0 activations, 53.2 weights"),
            std::string::npos)
      << ring.error->what();
  EXPECT_NE(ring.error->hint().find("run.weights = sharded"), std::string::npos) << ring.error->hint();
}

// Activations of a layer fall with the ranks: four times the sequence fits on no fewer than the search says.
TEST(FittingPlan, RefusalNamesTheFirstNumberOfRanksThatFits) {
  const std::vector<std::string> long_video = {"model.preset=dsp-3b", "model.grid=[512,96,96]", "run.scope=layer",
                                               "cluster.preset=ndr-h100-xN"};
  auto with_ranks = [&](int ranks) {
    std::vector<std::string> settings = long_video;
    settings.push_back("cluster.ranks=" + std::to_string(ranks));
    return tried("dsp", settings);
  };
  const Tried two = with_ranks(2);
  ASSERT_TRUE(two.error);
  const std::string& hint = two.error->hint();
  ASSERT_TRUE(hint.starts_with("fits from ")) << hint;
  const int fitting = std::stoi(hint.substr(std::string("fits from ").size()));
  EXPECT_TRUE(with_ranks(fitting / 2).error);
  EXPECT_FALSE(with_ranks(fitting).error);
}

}  // namespace
}  // namespace spscope
