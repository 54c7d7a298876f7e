// Plans of guidance passes that run at once: verified, and in bytes, tiles and work as many plans of one pass; and how
// their predictions are combined.
#include "backend/plan/passes_at_once.h"

#include <gtest/gtest.h>

#include <numeric>

#include "backend/plan/verify.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/combine_guidance.h"
#include "backend/strategies/strategy.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;
using testing::small_spatiotemporal_request;

TEST(PassesAtOnce, AreWhatTheirRequestAsksFor) {
  for (const char* name : {"ring", "ulysses", "usp", "allgather_kv", "snake"})
    for (const int passes : {2, 3}) {
      const Request request = request_at_once(small_request(2), passes);
      const Plan plan = plan_of(request, name);
      const std::vector<PlanProblem> problems = verify(plan, request);
      ASSERT_TRUE(problems.empty()) << name << ": " << problems.front().text;
      EXPECT_EQ(plan.ranks, 2 * passes);
      EXPECT_EQ(request.outputs.size(), static_cast<std::size_t>(passes));
    }
  const Request temporal = request_at_once(small_spatiotemporal_request(2), 2);
  const std::vector<PlanProblem> problems = verify(plan_of(temporal, "ring"), temporal);
  ASSERT_TRUE(problems.empty()) << problems.front().text;
  EXPECT_EQ(temporal.outputs.size(), 4u);
}

TEST(PassesAtOnce, RepeatThePlanOfAPassOnRanksOfTheirOwn) {
  const Request pass = small_request(3);
  const Plan one = plan_of(pass, "ring"), two = plan_of(request_at_once(pass, 2), "ring");
  const std::vector<std::int64_t> sent = bytes_sent(one), both = bytes_sent(two);
  for (std::size_t rank = 0; rank < both.size(); ++rank) EXPECT_EQ(both[rank], sent[rank % sent.size()]);
  for (const Message& m : two.messages) EXPECT_EQ(m.src / 3, m.dst / 3);
  ASSERT_EQ(two.ops.size(), 2 * one.ops.size());
  for (std::size_t i = 0; i < one.ops.size(); ++i) {
    const Op &first = two.ops[i], &second = two.ops[one.ops.size() + i];
    EXPECT_EQ(second.rank, first.rank + 3);
    EXPECT_EQ(second.tiles, one.ops[i].tiles);
    EXPECT_EQ(second.flops, one.ops[i].flops);
  }
}

// Inputs that were swapped between passes are outputs of another pass.
TEST(PassesAtOnce, SwappedPassesAreRefused) {
  const Request request = request_at_once(small_request(2), 2);
  Plan plan = plan_of(request, "ulysses");
  for (Value& value : plan.values) value.layer = 1 - value.layer;
  EXPECT_FALSE(verify(plan, request).empty());
}

TEST(PassesAtOnce, OfAPassIsTheRequestThatItWasMadeOf) {
  const Request pass = [] {
    Request request = small_request(2);
    define_outputs(request);
    return request;
  }();
  const Request back = request_of_pass(request_at_once(pass, 2));
  EXPECT_EQ(back.ranks, pass.ranks);
  EXPECT_EQ(back.passes, 1);
  ASSERT_EQ(back.outputs.size(), pass.outputs.size());
  EXPECT_EQ(back.outputs[0].term, pass.outputs[0].term);
}

// Executed at once and one after the other: each output is right, and that of its own inputs.
TEST(PassesAtOnce, LeaveWhatEachPassLeavesByItself) {
  const Request pass = small_request(2), both = request_at_once(pass, 2);
  std::vector<Activations> inputs = {generate_activations(pass, 5), generate_activations(pass, 6)};
  std::vector<std::vector<float>> alone;
  for (const Activations& input : inputs) {
    Request request = pass;
    define_outputs(request);
    alone.push_back(execute(plan_of(request, "ring"), request, input).outputs.front().values);
  }
  const ExecuteResult result = execute(plan_of(both, "ring"), both, activations_at_once(std::move(inputs)));
  ASSERT_EQ(result.outputs.size(), 2u);
  EXPECT_EQ(result.outputs[0].values, alone[0]);
  EXPECT_EQ(result.outputs[1].values, alone[1]);
  EXPECT_NE(alone[0], alone[1]);
}

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
