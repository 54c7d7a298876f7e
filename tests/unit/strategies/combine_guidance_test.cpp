#include "backend/strategies/combine_guidance.h"

#include <gtest/gtest.h>

#include <numeric>

#include "backend/plan/verify.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

Model small_model(int passes) {
  Model model;
  model.grid = {2, 3, 5};
  model.prediction_channels = 4;
  model.cfg = passes;
  return model;
}

Cluster cluster_of(int dp, int guidance, int ranks_of_pass) {
  Cluster cluster;
  cluster.ranks = cluster.gpus_per_node = dp * guidance * ranks_of_pass;
  cluster.dp = dp, cluster.guidance = guidance;
  return cluster;
}

// Each of P predictions goes from the ranks that have it to those of the G - 1 other groups. 30 tokens of 4 channels.
TEST(CombineGuidance, SendsEachPredictionToAllOtherPasses) {
  for (const int passes : {2, 3, 4})
    for (int guidance = 1; guidance <= passes; ++guidance)
      for (const int sp : {1, 2, 3, 7})
        for (const int dp : {1, 2})
          for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32})
            for (const int batch : {1, 2}) {
              if (passes % guidance != 0) continue;
              Model model = small_model(passes);
              model.batch = batch;
              const Request request = combine_request(model, cluster_of(dp, guidance, sp), dtype);
              const Plan plan = combine_plan(request, guidance);
              const std::vector<PlanProblem> problems = verify(plan, request);
              ASSERT_TRUE(problems.empty()) << problems.front().text;
              const std::vector<std::int64_t> sent = bytes_sent(plan);
              EXPECT_EQ(plan.ranks, guidance * sp);
              EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
                        std::int64_t{passes} * (guidance - 1) * 30 * 4 * batch * dtype_bytes(dtype));
            }
}

// Two passes of 3 ranks each on one node: both directions at once, 10 tokens x 4 channels x 2 bytes at 0.5 bytes/ns.
TEST(CombineGuidance, PartnersExchangeInBothDirectionsAtOnce) {
  const Request request = combine_request(small_model(2), cluster_of(1, 2, 3), Dtype::kBf16);
  const Plan plan = combine_plan(request, 2);
  Network network = Network::instant(6);
  network.port_bytes_per_ns = 0.5;
  network.intra_latency_ns = 100;
  const std::vector<std::int64_t> nothing(plan.ops.size(), 0);
  EXPECT_EQ(schedule(plan, nothing, network).makespan_ns(), 100 + 10 * 4 * 2 / 0.5);
}

}  // namespace
}  // namespace spscope
