// What allgather_kv with Ulysses groups, ulysses in pieces, burst, dsv, cyclic and snake move and attend, by closed
// forms and by counting in the mask. That they compute the layer is proven by the conformance tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "backend/analysis/plan_figures.h"
#include "backend/base/rng.h"
#include "backend/plan/verify.h"
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/index_groups.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

constexpr int kSystemHeads = 14, kSystemHeadDim = 8, kSystemBlock = 16;
constexpr std::int32_t kSystemTokens = 48 * kSystemBlock;
constexpr std::int64_t kCellBytes = kSystemHeadDim * 2;  // of one tensor, head and token, in bf16

BlockMask drawn_mask(std::uint64_t seed) {
  BlockMask mask(kSystemHeads, BlockMask::uniform_starts(kSystemTokens, kSystemBlock));
  Rng rng(seed);
  for (int head = 0; head < kSystemHeads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (rng.uniform() < 0.02 * (1 + head)) mask.set(head, q, k);
  return mask;
}

Request system_request(int ranks, int per_node = 0) {
  Request request = Request::attention(ranks, kSystemHeads, kSystemHeadDim, drawn_mask(3));
  request.ranks_per_node = per_node;
  define_outputs(request);
  return request;
}

using Given = std::map<std::string, ParameterValue>;

Parameters setting_of(const char* name, const Given& given) {
  Parameters parameters(find_strategy(name)->parameters());
  for (const auto& [key, value] : given) parameters.set(key, value);
  return parameters;
}

bool is_legal(const Request& request, const char* name, const Given& given) {
  return find_strategy(name)->legal(request, setting_of(name, given)).empty();
}

Plan planned(const Request& request, const char* name, const Given& given) {
  EXPECT_TRUE(is_legal(request, name, given));
  const Parameters parameters = setting_of(name, given);
  Plan plan = make_plan(*find_strategy(name), request, parameters);
  for (const PlanProblem& p : verify(plan, request)) ADD_FAILURE() << name << " " << parameters.str() << ": " << p.text;
  return plan;
}

ParameterValue number(int value) { return std::int64_t{value}; }
ParameterValue word(const char* value) { return std::string(value); }
std::int64_t in_all(const std::vector<std::int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{0});
}

TEST(AllgatherKv, WithUlyssesGroupsMovesTheBytesOfUspRankByRank) {
  const Request request = system_request(12, 4);
  for (const int ulysses : {1, 2, 4, 6})
    for (const char* ranks : {"contiguous", "strided"})
      for (const char* order : {"contiguous", "cyclic"}) {
        SCOPED_TRACE(std::to_string(ulysses) + " " + ranks + " " + order);
        const Plan usp =
            planned(request, "usp", {{"ulysses", number(ulysses)}, {"ranks", word(ranks)}, {"order", word(order)}});
        for (const char* way : {"ring", "flat", "hierarchical", "tree"}) {
          const Plan gather = planned(request, "allgather_kv",
                                      {{"ulysses", number(ulysses)},
                                       {"ranks", word(ranks)},
                                       {"order", word(order)},
                                       {"collective", word(way)}});
          if (std::string_view(way) == "ring") {
            EXPECT_EQ(bytes_sent(gather), bytes_sent(usp));
          }
          EXPECT_EQ(in_all(bytes_sent(gather)), in_all(bytes_sent(usp))) << way;
          for (int rank = 0; rank < request.ranks; ++rank)
            EXPECT_EQ(std::ranges::count_if(
                          gather.ops,
                          [&](const Op& op) { return op.rank == rank && gather.kind_of(op) == PostKind::kAttend; }),
                      1);
        }
      }
  EXPECT_FALSE(is_legal(request, "allgather_kv", {{"ulysses", number(5)}}));
}

// The next piece is under way before the attention of one, and the same bytes travel, two of three pieces hidden.
TEST(UlyssesInPieces, PostsTheNextExchangeBeforeItAttends) {
  const Request request = system_request(4);
  const Plan whole = planned(request, "ulysses", {}), pieces = planned(request, "ulysses", {{"chunks", number(3)}});
  EXPECT_EQ(bytes_sent(pieces), bytes_sent(whole));
  std::vector<int> lanes;  // of rank 0, attends as 0
  for (const Op& op : pieces.ops)
    if (op.rank == 0 && pieces.kind_of(op) != PostKind::kFinish) lanes.push_back(pieces.post_of(op).lane);
  EXPECT_EQ(lanes, (std::vector<int>{1, 1, 1, 1, 0, 2, 1, 1, 0, 2, 0, 2}));
  EXPECT_FALSE(is_legal(request, "ulysses", {{"chunks", number(5)}})) << "a rank has 4 heads at most";
}

TEST(Burst, KeysGoRoundNodesWithinAndBetweenThemAndEveryStepIsEven) {
  for (const auto& [nodes, local] : {std::pair{1, 4}, {2, 3}, {3, 4}, {4, 2}}) {
    SCOPED_TRACE(std::to_string(nodes) + " nodes of " + std::to_string(local));
    const int ranks = nodes * local;
    const Request request = system_request(ranks, local);
    for (const char* order : {"stripe", "contiguous", "cyclic"}) {
      const Plan plan = planned(request, "burst", {{"order", word(order)}});
      std::vector<std::int64_t> inside(static_cast<std::size_t>(ranks)), between(inside);
      for (const Message& m : plan.messages)
        (m.src / local == m.dst / local ? inside : between)[static_cast<std::size_t>(m.src)] += m.bytes;
      const std::int64_t m = kSystemTokens * kSystemHeads * kCellBytes;  // of all ranks
      EXPECT_EQ(in_all(between), 2 * (nodes - 1) * m) << order;
      EXPECT_EQ(in_all(inside), 2 * nodes * (local - 1) * m) << order;
      const bool even =
          (std::string_view(order) == "stripe" ? kSystemBlock : kSystemTokens / kSystemBlock) % ranks == 0;
      if (!even) continue;
      EXPECT_EQ(inside, std::vector<std::int64_t>(inside.size(), 2 * nodes * (local - 1) * m / ranks)) << order;
    }
    // The keys of the documented rank, in its slices; of every block as many tokens, give or take one.
    const Plan plan = planned(request, "burst", {});
    const SetId home0 = plan.values[static_cast<std::size_t>(plan.accumulators[0].q)].placement.at(0).front().inner;
    EXPECT_EQ(plan.sets->spans(home0).size(), 48u);
    for (const Op& op : plan.ops) {
      if (plan.kind_of(op) != PostKind::kAttend) continue;
      const int step = plan.post_of(op).ring_step, round = step / local;
      const int node = op.rank / local, place = op.rank % local;
      const int from = (node - round + nodes) % nodes * local + (place - step % local + local) % local;
      EXPECT_EQ(op.k, plan.values[static_cast<std::size_t>(plan.accumulators[0].q)].placement.at(from).front().inner);
    }
  }
}

TEST(Burst, SlicesMakeRanksAndStepsEvenWhateverTheMask) {
  const Request request = system_request(8);  // two tokens of each block a rank
  const Plan plan = planned(request, "burst", {});
  std::set<std::int64_t> flops;
  for (const Op& op : plan.ops)
    if (plan.kind_of(op) == PostKind::kAttend) flops.insert(op.flops);
  EXPECT_EQ(flops.size(), 1u);
  EXPECT_FALSE(is_legal(system_request(kSystemBlock + 1), "burst", {}));
}

TEST(DealUncapped, GivesEachHeadToTheLightestRankWhateverNumberItHas) {
  const std::vector<std::int64_t> weights = {11, 4, 3, 3};
  EXPECT_EQ(deal_uncapped(weights, 2), (IndexGroups{{0}, {1, 2, 3}}));
  EXPECT_EQ(deal_uncapped(std::vector<std::int64_t>(4, 0), 2), (IndexGroups{{0, 2}, {1, 3}}));
}

// Blocks that some row of a rank needs and another rank of its group has, counted bit by bit on the mask that runs.
TEST(Dsv, FetchesWhatItsRowsNeedOfTheMaskThatRuns) {
  Request request = system_request(6);
  request.known_masks[1] = std::make_shared<MaskCounter>(request.sets, drawn_mask(9));  // of an earlier step
  const BlockMask& mask = request.executed_mask().mask();
  for (const auto& [ulysses, ring] : {std::pair{2, 3}, {3, 2}, {1, 6}, {6, 1}}) {
    SCOPED_TRACE(std::to_string(ulysses) + " x " + std::to_string(ring));
    for (const bool overlap : {false, true}) {
      const Plan plan =
          planned(request, "dsv", {{"ulysses", number(ulysses)}, {"ring", number(ring)}, {"overlap", overlap}});
      const IndexGroups heads = deal_uncapped(request.known_mask()->area_sums().heads, ulysses);
      const int chunk = mask.blocks() / ring;
      std::int64_t fetched = 0, stay = 0;  // (block, head), and cells of one tensor that the all-to-alls leave
      for (int u = 0; u < ulysses; ++u)
        for (int r = 0; r < ring; ++r) {
          stay += static_cast<std::int64_t>(heads[static_cast<std::size_t>(u)].size()) * chunk * kSystemBlock / ulysses;
          for (const std::int32_t head : heads[static_cast<std::size_t>(u)])
            for (std::int32_t k = 0; k < mask.blocks(); ++k) {
              bool needed = false;
              for (std::int32_t q = r * chunk; q < (r + 1) * chunk; ++q) needed = needed || mask.active(head, q, k);
              fetched += needed && k / chunk != r;
            }
        }
      const PlanVolume volume = plan_volume(plan, request);
      const std::int64_t moved = (std::int64_t{kSystemTokens} * kSystemHeads - stay) * kCellBytes;
      EXPECT_EQ(volume.by_tensor.at("q"), moved);
      EXPECT_EQ(volume.by_tensor.at("o"), moved);
      EXPECT_EQ(volume.by_tensor.at("k"), moved + fetched * kSystemBlock * kCellBytes);
      EXPECT_EQ(volume.by_tensor.at("metadata"), 12 * fetched);
      EXPECT_EQ(in_all(volume.sent), 2 * moved + 2 * volume.by_tensor.at("k"));
    }
  }
}

constexpr int kCyclicHeads = 8, kCyclicHeadDim = 16;
constexpr std::int32_t kCyclicTokens = 512;

// Heads of very different density, each a band around the diagonal.
Request band_request(int ranks) {
  BlockMask mask(kCyclicHeads, BlockMask::uniform_starts(kCyclicTokens, 16));
  for (int head = 0; head < kCyclicHeads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if (std::abs(q - k) <= 3 * head) mask.set(head, q, k);
  Request request = Request::attention(ranks, kCyclicHeads, kCyclicHeadDim, std::move(mask));
  define_outputs(request);
  return request;
}

Parameters with_degrees(const char* name, int ulysses, int ring) {
  Parameters parameters(find_strategy(name)->parameters());
  parameters.set("ulysses", std::int64_t{ulysses});
  parameters.set("ring", std::int64_t{ring});
  return parameters;
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

TEST(Cyclic, IsMoreEvenThanUspAndMovesTheSame) {
  const Request request = band_request(8);
  const Strategy &cyclic = *find_strategy("cyclic"), &usp = *find_strategy("usp");
  for (const auto& [ulysses, ring] : {std::pair{4, 2}, {2, 4}, {1, 8}}) {
    const Parameters mine = with_degrees("cyclic", ulysses, ring), theirs = with_degrees("usp", ulysses, ring);
    const Decision decision = cyclic.decide(request, mine);
    EXPECT_EQ(decision.query_blocks, cyclic_groups(32, ring));
    EXPECT_LT(decision_imbalance(request, decision), decision_imbalance(request, usp.decide(request, theirs)));
    EXPECT_EQ(sum(bytes_sent(make_plan(cyclic, request, mine))), sum(bytes_sent(make_plan(usp, request, theirs))));
  }
}

TEST(Snake, DealsTheKnownHeadsAndMovesWhatUlyssesMoves) {
  Request request = band_request(4);
  const Strategy &snake = *find_strategy("snake"), &ulysses = *find_strategy("ulysses");
  const Decision decision = snake.decide(request, {});
  EXPECT_EQ(decision.heads, (IndexGroups{{0, 7}, {1, 6}, {2, 5}, {3, 4}}));
  EXPECT_EQ(bytes_sent(make_plan(snake, request, {}, decision)), bytes_sent(make_plan(ulysses, request, {})));
  request.known_masks[1] = nullptr;
  EXPECT_EQ(snake.decide(request, {}).heads, even_groups(kCyclicHeads, 4));
}

}  // namespace
}  // namespace spscope
