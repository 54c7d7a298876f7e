// Algorithms of gathers and sums: bytes against closed forms, and each a plan that verify() accepts.
#include "backend/strategies/collectives.h"

#include <gtest/gtest.h>

#include "backend/plan/verify.h"
#include "backend/strategies/strategy.h"
#include "tests/support/editable_plan.h"
#include "tests/support/plan_library.h"

namespace spscope {
namespace {

using testing::LayerKind;
using testing::LayerShape;
using Algorithm = CollectiveAlgorithm;

constexpr int kPerNode = 8;

// The most that leaves one node.
std::int64_t leaving_a_node(const Plan& plan, int per_node) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>((plan.ranks + per_node - 1) / per_node));
  for (const Message& m : plan.messages)
    if (m.src / per_node != m.dst / per_node) bytes[static_cast<std::size_t>(m.src / per_node)] += m.bytes;
  return *std::ranges::max_element(bytes);
}

// 64 heads and channels and 128 tokens divide by every number of ranks below.
Request request_of(int ranks, int per_node) {
  const LayerShape shape{.ranks = ranks, .heads = 64, .inner = 128, .ffn = 64, .ranks_per_node = per_node};
  return testing::layer_request(shape, LayerKind::kMegatronLayer);
}

// M of the header: bytes of the hidden state.
std::int64_t state_bytes(const Request& request) {
  return std::int64_t{request.inner_tokens} * request.hidden * dtype_bytes(request.dtype);
}

Plan plan_of(const Request& request, Algorithm algorithm, bool sequence_parallel = true) {
  PlanBuilder b(request);
  testing::plan_megatron(b, request, sequence_parallel, algorithm);
  Plan plan = b.take();
  for (const PlanProblem& problem : verify(plan, request)) ADD_FAILURE() << problem.text;
  return plan;
}

// Norm statistics are left out: they are 4 bytes a token, and M is the state.
std::int64_t without_norms(const Plan& plan, std::int64_t leaving, double share) {
  return leaving - static_cast<std::int64_t>(2 * share * plan.inner_tokens * 4);
}

// Two blocks of a gather and a scatter each: 4 x the closed form of one, in units of M.
TEST(Collectives, BytesThatLeaveANodeFollowTheirClosedForms) {
  for (const int nodes : {2, 4, 8}) {
    SCOPED_TRACE(nodes);
    const int ranks = nodes * kPerNode;
    const Request request = request_of(ranks, kPerNode);
    const double n = ranks, p = kPerNode;
    const auto expect = [&](Algorithm algorithm, double share) {
      const Plan plan = plan_of(request, algorithm);
      EXPECT_EQ(without_norms(plan, leaving_a_node(plan, kPerNode), share),
                static_cast<std::int64_t>(4 * share * static_cast<double>(state_bytes(request))));
    };
    expect(Algorithm::kRing, (n - 1) / n);
    expect(Algorithm::kFlat, p * (n - p) / n);
    expect(Algorithm::kHierarchical, (n - p) / n);
    expect(Algorithm::kTree, (n - p) / n);
  }
}

// Of all ranks together an algorithm of whole rings sends what a flat one does: (N - 1) M.
TEST(Collectives, SendTheSameBytesInAllUnlessNodesShareThem) {
  for (const bool sequence_parallel : {false, true}) {
    const Request request = request_of(16, kPerNode);
    const auto sent = [&](Algorithm algorithm) {
      std::int64_t sum = 0;
      for (const std::int64_t bytes : bytes_sent(plan_of(request, algorithm, sequence_parallel))) sum += bytes;
      return sum;
    };
    const std::int64_t norms = 2 * 15 * 128 * 4;
    for (const Algorithm algorithm : {Algorithm::kFlat, Algorithm::kRing, Algorithm::kHierarchical, Algorithm::kTree})
      EXPECT_EQ(sent(algorithm), 4 * 15 * state_bytes(request) + norms);
  }
}

// Hops of a gather and a scatter of 1 to 16 ranks: the sum of (f - 1) over the prime factors f of their number.
TEST(Collectives, ATreeHasAsManyStepsAsPrimeFactorsHaveHops) {
  for (const auto& [ranks, steps] :
       std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {3, 2}, {4, 2}, {6, 3}, {8, 3}, {12, 4}, {16, 4}}) {
    SCOPED_TRACE(ranks);
    const LayerShape shape{.ranks = ranks, .heads = 48, .inner = 96, .ffn = 48};
    const Plan plan = plan_of(testing::layer_request(shape, LayerKind::kMegatronLayer), Algorithm::kTree);
    for (const Post& post : plan.posts) {
      if (post.collective != Collective::kAllGather && post.collective != Collective::kReduceScatter) continue;
      EXPECT_EQ(post.collective_steps, steps);
    }
  }
}

// A sum that is short of a share is not accepted, wherever in a ring of three hops it is lost.
TEST(Collectives, AShareThatIsMissingInARingIsFound) {
  const Request request = request_of(4, 0);
  const testing::EditablePlan good(plan_of(request, Algorithm::kRing));
  std::vector<std::size_t> reduces;
  for (std::size_t id = 0; id < good.posts.size(); ++id)
    if (good.posts[id].fields.kind == PostKind::kReduce) reduces.push_back(id);
  ASSERT_GE(reduces.size(), 3u);
  const auto found = [&](const testing::EditablePlan& plan) {
    for (const PlanProblem& problem : verify(plan.flatten(), request))
      if (problem.text.find("lacks shares") != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(found(good));
  testing::EditablePlan early = good;  // nothing is said to be pending after the first hop
  early.values[static_cast<std::size_t>(early.posts[reduces[0]].fields.dst)].pending.clear();
  EXPECT_TRUE(found(early));
  testing::EditablePlan restarted = good;  // the second hop forgets what the first one added
  restarted.posts[reduces[1]].fields.src = restarted.posts[reduces[0]].fields.src;
  EXPECT_TRUE(found(restarted));
  testing::EditablePlan others = good;  // the last hop adds no share of its own rank
  others.posts[reduces[2]].operands = {others.posts[reduces[2]].fields.src};
  EXPECT_TRUE(found(others));
}

TEST(Collectives, StrategiesOfferTheAlgorithmsThatDiffer) {
  Request request = testing::layer_request({.ranks = 4, .heads = 8}, LayerKind::kAttention);
  const auto of_all_ranks = [&] {  // without Ulysses groups, in one order of blocks
    return std::ranges::count_if(find_strategy("allgather_kv")->candidates(request), [](const Parameters& setting) {
      return setting.integer("ulysses") == 1 && setting.text("order") == "contiguous";
    });
  };
  EXPECT_EQ(of_all_ranks(), 1);
  request.ranks_per_node = 2;
  EXPECT_EQ(of_all_ranks(), 2);
}

}  // namespace
}  // namespace spscope
