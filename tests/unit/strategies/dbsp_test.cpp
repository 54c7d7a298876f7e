// dbsp: its predictor against closed forms, what it chooses, and what its plans move. That its outputs are right is
// proven by the conformance tests.
#include "backend/strategies/dbsp_predictor.h"

#include <gtest/gtest.h>

#include <limits>

#include "backend/base/rng.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/index_groups.h"
#include "tests/support/random_mask.h"

namespace spscope {
namespace {

constexpr int kHeads = 8, kHeadDim = 16;
constexpr std::int32_t kBlock = 16, kBlocks = 32, kTokens = kBlock * kBlocks;

const Strategy& dbsp() { return *find_strategy("dbsp"); }

// Rows of block q are active with probability density(head, q).
template <typename Density>
BlockMask mask_of(Density&& density, std::uint64_t seed = 1) {
  Rng rng(seed);
  return testing::mask_where(kHeads, BlockMask::uniform_starts(kTokens, kBlock),
                             [&](int head, int q, int k) { return k == q || rng.uniform() < density(head, q); });
}

// Late rows are denser than early ones; heads alike.
BlockMask slanted_mask() {
  return mask_of([](int, std::int32_t q) { return 0.9 * q / kBlocks; });
}
BlockMask dense_mask() {
  return mask_of([](int, std::int32_t) { return 1.0; });
}
// One head does nearly everything.
BlockMask one_busy_head() {
  return mask_of([](int head, std::int32_t) { return head == 3 ? 1.0 : 0.0; });
}

Request request_of(int ranks, BlockMask mask) {
  Request request = Request::attention(ranks, kHeads, kHeadDim, std::move(mask));
  define_outputs(request);
  return request;
}

Parameters setting(int ulysses, int ring, double reward = 0) {
  Parameters parameters(dbsp().parameters());
  parameters.set("ulysses", std::int64_t{ulysses});
  parameters.set("ring", std::int64_t{ring});
  parameters.set("reward", reward);
  return parameters;
}

Parameters by_formula() {
  Parameters parameters(dbsp().parameters());
  parameters.set("degrees", std::string("predicted"));
  return parameters;
}

// Links of 2 GB/s and 1,000 ns, attention of 1 ns a row and 0.5 ns a pair and channel, after 100 ns.
ClusterPreset small_cluster() {
  ClusterPreset cluster;
  cluster.network.link_gbps = 2;
  cluster.network.intra_latency_ns = 1000;
  cluster.cost.attend_ns_per_launch = 100;
  cluster.cost.attend_ns_per_row = 1;
  cluster.cost.attend_ns_per_pair_channel = 0.5;
  return cluster;
}

TEST(PredictedLatency, FollowsTheFormula) {
  LatencyTerms terms{.ring = 4, .step_ns = 10, .hop_ns = 15, .all_to_all_ns = 100, .exchange_ns = 40, .ratio = 1.5};
  EXPECT_DOUBLE_EQ(predicted_latency_ns(terms, false), 100 + (15 * 3 + 10) * 1.5);
  EXPECT_DOUBLE_EQ(predicted_latency_ns(terms, true), 140 + (15 * 3 + 10) * 1.5);
  terms.step_ns = 20;
  EXPECT_DOUBLE_EQ(predicted_latency_ns(terms, false), 100 + 20 * 4 * 1.5);
}

TEST(LatencyTerms, OfADenseMaskAreTheClosedForms) {
  const ClusterPreset cluster = small_cluster();
  Request request = request_of(8, dense_mask());
  request.cluster = &cluster;
  const double shard_bytes = kTokens * kHeads * kHeadDim * 2.0 / 8;
  for (const auto& [ulysses, ring] : {std::pair{8, 1}, {4, 2}, {2, 4}, {1, 8}}) {
    const LatencyTerms terms = latency_terms(request, dbsp().decide(request, setting(ulysses, ring, 1e6)));
    const double a2a = ulysses == 1 ? 0 : 4 * shard_bytes * (ulysses - 1) / ulysses / 2 + 4 * 1000;
    EXPECT_DOUBLE_EQ(terms.all_to_all_ns, a2a) << ulysses;
    EXPECT_DOUBLE_EQ(terms.hop_ns, ring == 1 ? 0 : 2 * shard_bytes / 2 + 1000) << ulysses;
    EXPECT_DOUBLE_EQ(terms.exchange_ns, 0) << ulysses;
    const double pairs = 1.0 * kHeads * kTokens * kTokens / 8 / ring, rows = 1.0 * kHeads * kTokens / 8;
    EXPECT_DOUBLE_EQ(terms.step_ns, 100 + rows + 0.5 * kHeadDim * pairs) << ulysses;
    EXPECT_DOUBLE_EQ(terms.ratio, 1) << ulysses;
  }
}

// Blocks {0, 3} and {1, 2} of two ranks that had {0, 1} and {2, 3}: one block of each rank moves.
TEST(LatencyTerms, CountTheExchange) {
  const ClusterPreset cluster = small_cluster();
  Request request = Request::attention(2, 1, kHeadDim, BlockMask(1, BlockMask::uniform_starts(64, 16)));
  request.cluster = &cluster;
  Decision decision;
  decision.ring = 2;
  decision.ulysses_groups = {{0}, {1}};
  decision.ring_groups = {{0, 1}};
  decision.query_blocks = decision.key_blocks = {{0, 3}, {1, 2}};
  const double block_bytes = 16 * kHeadDim * 2;
  EXPECT_DOUBLE_EQ(latency_terms(request, decision).exchange_ns, (3 * block_bytes + block_bytes) / 2 + 4 * 1000);
}

// Two nodes of four ranks share a network card each: a ring over nodes is as slow as the card.
TEST(LatencyTerms, WaitForTheCardOfANode) {
  ClusterPreset cluster = small_cluster();
  cluster.network.nic_gbps = 1;
  cluster.network.inter_latency_ns = 5000;
  Request request = request_of(8, dense_mask());
  request.cluster = &cluster;
  request.ranks_per_node = 4;
  const double shard_bytes = kTokens * kHeads * kHeadDim * 2.0 / 8;
  const LatencyTerms terms = latency_terms(request, dbsp().decide(request, setting(4, 2, 1e6)));
  EXPECT_DOUBLE_EQ(terms.hop_ns, 4 * 2 * shard_bytes / 1 + 5000);
  EXPECT_DOUBLE_EQ(terms.all_to_all_ns, 4 * shard_bytes * 3 / 4 / 2 + 4 * 1000);
}

// Over all legal pairs, each planned and scheduled here: on the mask that is known, and on a dense one before any is.
TEST(Dbsp, ChoosesTheDegreesWhosePlanEndsFirst) {
  ClusterPreset cluster = small_cluster();
  cluster.cost.attend_ns_per_pair_channel = 0.05;
  std::vector<int> chosen;
  for (const double slowdown : {1.0, 1.3, 2.6})
    for (const bool known : {true, false}) {
      cluster.network.compute_slowdown = slowdown;
      Request request = request_of(8, dense_mask());
      request.cluster = &cluster;
      request.known_masks[1] = known ? std::make_shared<MaskCounter>(request.sets, slanted_mask()) : nullptr;
      Request runs_known = request_of(8, known ? slanted_mask() : dense_mask());
      runs_known.cluster = &cluster;
      if (!known) runs_known.known_masks[1] = nullptr;
      int best = 0;
      std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
      for (const int ulysses : {8, 4, 2, 1}) {
        const Plan plan = make_plan(dbsp(), runs_known, setting(ulysses, 8 / ulysses, 2));
        const std::int64_t ns =
            schedule(plan, op_durations(plan, cluster.cost), Network::of_cluster(cluster, 8, 0)).makespan_ns();
        if (ns < least_ns) best = ulysses;
        least_ns = std::min(least_ns, ns);
      }
      chosen.push_back(dbsp().decide(request, Parameters(dbsp().parameters())).ulysses);
      EXPECT_EQ(chosen.back(), best) << slowdown << known;
    }
  EXPECT_NE(std::ranges::min(chosen), std::ranges::max(chosen));
}

// Fast compute hides no hop: a ring of 8 waits for 7 hops of 2 shards, Ulysses for 4 x 7/8 of one.
TEST(Dbsp, ChoosesUlyssesWhereAllIsEven) {
  ClusterPreset cluster = small_cluster();
  cluster.cost.attend_ns_per_pair_channel = 1e-6;
  Request request = request_of(8, dense_mask());
  request.cluster = &cluster;
  EXPECT_EQ(dbsp().decide(request, Parameters(dbsp().parameters())).ulysses, 8);
  request.known_masks[1] = nullptr;
  EXPECT_EQ(dbsp().decide(request, Parameters(dbsp().parameters())).ulysses, 8);
  request.cluster = nullptr;
  EXPECT_EQ(dbsp().decide(request, Parameters(dbsp().parameters())).ulysses, 8);
}

// Four heads with 30 keys a row and four with 2, in bands that wrap round: one head a rank is 30/16 off, pairs of heads
// are even, and so is every tile of a ring, in order as well as dealt out.
BlockMask paired_heads() {
  return testing::mask_where(kHeads, BlockMask::uniform_starts(kTokens, kBlock),
                             [](int head, int q, int k) { return (k - q + kBlocks) % kBlocks < (head < 4 ? 30 : 2); });
}

TEST(Dbsp, ChoosesARingWhereHeadsCannotBeBalancedAndAHybridWherePairsOfThemAreEven) {
  for (const auto& [mask, ulysses] : {std::pair{one_busy_head(), 1}, {paired_heads(), 4}})
    for (const Parameters& parameters : {Parameters(dbsp().parameters()), by_formula()}) {
      const Decision decision = dbsp().decide(request_of(8, mask), parameters);
      EXPECT_EQ(decision.ulysses, ulysses);
      EXPECT_EQ(decision.ring, 8 / ulysses);
    }
}

// In times that one rank's share of a tensor takes on its link, with attention of 2 of them: U8 R1 takes 4 x 7/8 + 2 x
// 30/16 = 7.25; U4 R2 takes 4 x 3/4 + max(1, 2) + 1 = 6, but 2 more for the exchange of half of the blocks; U2 R4 takes
// 8.5, U1 R8 more.
TEST(Dbsp, CountsTheExchangeOnRequest) {
  ClusterPreset cluster = small_cluster();
  cluster.network.intra_latency_ns = 0;
  const double shard_ns = kTokens * kHeads * kHeadDim * 2.0 / 8 / 2, pairs = 16.0 * kTokens * kBlock;
  cluster.cost.attend_ns_per_launch = cluster.cost.attend_ns_per_row = 0;
  cluster.cost.attend_ns_per_pair_channel = 2 * shard_ns / (pairs * kHeadDim);
  Request request = request_of(8, paired_heads());
  request.cluster = &cluster;
  const auto latency = [&](int ulysses, int ring, bool with_exchange) {
    const Decision decision = dbsp().decide(request, setting(ulysses, ring));
    return predicted_latency_ns(latency_terms(request, decision), with_exchange) / shard_ns;
  };
  EXPECT_DOUBLE_EQ(latency(8, 1, true), 7.25);
  EXPECT_DOUBLE_EQ(latency(4, 2, false), 6);
  EXPECT_DOUBLE_EQ(latency(4, 2, true), 8);
  Parameters parameters = by_formula();
  parameters.set("reward", 0.0);
  EXPECT_EQ(dbsp().decide(request, parameters).ulysses, 4);
  parameters.set("exchange_cost", true);
  EXPECT_EQ(dbsp().decide(request, parameters).ulysses, 8);
}

TEST(Dbsp, ChoosesNoRingWhereTextIsReplicated) {
  Request request = request_of(4, one_busy_head());
  request.text_tokens = kBlock;
  request.text = TextLayout::kReplicate;
  EXPECT_EQ(dbsp().decide(request, Parameters(dbsp().parameters())).ring, 1);
  EXPECT_EQ(dbsp().legal(request, setting(2, 2)).size(), 1u);
}

TEST(Dbsp, DividesInOrderWhileNothingIsKnown) {
  Request request = request_of(8, slanted_mask());
  request.known_masks[1] = nullptr;
  const Decision decision = dbsp().decide(request, setting(2, 4));
  EXPECT_EQ(decision.heads, even_groups(kHeads, 2));
  EXPECT_EQ(decision.query_blocks, even_groups(kBlocks, 4));
  EXPECT_EQ(decision.key_blocks, even_groups(kBlocks, 4));
}

TEST(Dbsp, FollowsTheKnownMaskNotTheExecutedOne) {
  Request request = request_of(8, slanted_mask());
  const Decision oracle = dbsp().decide(request, setting(2, 4));
  request.known_masks[1] = std::make_shared<MaskCounter>(request.sets, dense_mask());
  const Decision decision = dbsp().decide(request, setting(2, 4));
  EXPECT_NE(decision, oracle);
  const Request known = request_of(8, dense_mask());
  EXPECT_EQ(decision, dbsp().decide(known, setting(2, 4)));
}

struct Sent {
  std::int64_t balancing = 0, other = 0;
};

Sent sent_by(const Plan& plan) {
  Sent sent;
  for (const Op& op : plan.ops)
    for (MessageId m : plan.messages_of(op)) {
      const Message& message = plan.messages[static_cast<std::size_t>(m)];
      if (message.src != op.rank) continue;
      (plan.post_of(op).balances ? sent.balancing : sent.other) += message.bytes;
    }
  return sent;
}

// 2 (f_q + f_k) M bytes to balance (docs/strategies.md), f_k = 0 where keys stay, and those of usp.
TEST(Dbsp, MovesWhatThePublishedFormSays) {
  for (const char* exchange : {"both", "queries", "none"})
    for (const double reward : {0.0, 2.0, 1e6})
      for (const auto& [ulysses, ring] : {std::pair{8, 1}, {4, 2}, {2, 4}, {1, 8}}) {
        const Request request = request_of(8, slanted_mask());
        Parameters parameters = setting(ulysses, ring, reward);
        parameters.set("exchange", std::string(exchange));
        const Decision decision = dbsp().decide(request, parameters);
        const IndexGroups home = even_groups(kBlocks, ring);
        const double of_q = moved_fraction(transfer_matrix(home, decision.query_blocks)),
                     of_k = moved_fraction(transfer_matrix(home, decision.key_blocks));
        const std::int64_t tensor = std::int64_t{kTokens} * kHeads * kHeadDim * 2;
        const Sent sent = sent_by(make_plan(dbsp(), request, parameters, decision));
        EXPECT_EQ(sent.balancing, static_cast<std::int64_t>(2 * (of_q + of_k) * static_cast<double>(tensor)));
        EXPECT_EQ(sent.other, 4 * (ulysses - 1) * tensor / ulysses + 2 * (ring - 1) * tensor) << ulysses;
        const bool moves = ring > 1 && reward < 1e6;
        EXPECT_EQ(of_q > 0, moves && exchange != std::string("none")) << ulysses;
        EXPECT_EQ(of_k > 0, moves && exchange == std::string("both")) << ulysses;
      }
}

// db-SP's ablation: without its two levels it is usp, whose heads are as uneven as they lie.
TEST(Dbsp, LeavesEachLevelOut) {
  const Request request = request_of(8, mask_of([](int head, std::int32_t) { return head < 4 ? 0.8 : 0.1; }));
  Parameters parameters = setting(4, 2);
  const auto ratio = [&] { return decision_imbalance(request, dbsp().decide(request, parameters)); };
  EXPECT_LT(ratio(), 1.02);
  parameters.set("heads", std::string("even"));
  parameters.set("refine", true);
  const double even_heads = ratio();
  parameters.set("exchange", std::string("none"));
  const Strategy& usp = *find_strategy("usp");
  const Decision plain = usp.decide(request, setting(4, 2));
  EXPECT_EQ(dbsp().decide(request, parameters).heads, even_groups(kHeads, 4));
  EXPECT_DOUBLE_EQ(ratio(), decision_imbalance(request, plain));
  EXPECT_NEAR(even_heads, 2 * 0.8 / 0.9, 0.1);
}

// Layers of different degrees follow each other: rows stay.
TEST(Dbsp, HoldsTheSameRowsWhateverTheDegrees) {
  const Request request = request_of(8, slanted_mask());
  const auto rows = [&](int ulysses, int ring) {
    const Plan plan = make_plan(dbsp(), request, setting(ulysses, ring));
    std::vector<BoxList> boxes;
    for (int rank = 0; rank < 8; ++rank) {
      const auto held = plan.values.front().placement.at(rank);
      boxes.emplace_back(held.begin(), held.end());
    }
    return boxes;
  };
  for (const auto& [ulysses, ring] : {std::pair{4, 2}, {2, 4}, {1, 8}}) EXPECT_EQ(rows(ulysses, ring), rows(8, 1));
}

// Greedy makes 12 + 9 + 7 + 6 and 11 + 11 + 7 + 3 of these; exchanging 12 and 11 makes both 33.
TEST(Dbsp, RefinesHeadsOnRequest) {
  constexpr std::int32_t kKeys[kHeads] = {12, 11, 11, 9, 7, 7, 6, 3};
  BlockMask mask(kHeads, BlockMask::uniform_starts(kTokens, kBlock));
  for (int head = 0; head < kHeads; ++head)
    for (std::int32_t k = 0; k < kKeys[head]; ++k) mask.set(head, 0, k);
  const Request request = request_of(2, std::move(mask));
  const std::vector<std::int64_t> weights = request.known_mask()->area_sums().heads;
  Parameters parameters = setting(2, 1);
  const double greedy = imbalance_ratio_of(group_sums(dbsp().decide(request, parameters).heads, weights));
  parameters.set("refine", true);
  const double refined = imbalance_ratio_of(group_sums(dbsp().decide(request, parameters).heads, weights));
  EXPECT_LT(refined, greedy);
  EXPECT_DOUBLE_EQ(greedy, 34.0 / 33);
  EXPECT_DOUBLE_EQ(refined, 1);
}

}  // namespace
}  // namespace spscope
