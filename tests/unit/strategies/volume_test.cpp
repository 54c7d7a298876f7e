// Sent bytes of the strategies against closed forms and published numbers: from the plan at full size. That runs
// move the bytes of their plans is proven by the conformance tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "backend/config/model.h"
#include "backend/plan/verify.h"
#include "backend/strategies/strategy.h"

namespace spscope {
namespace {

constexpr std::int32_t kVolumeBlock = 64;

BlockMask dense_mask(int heads, std::int32_t tokens, std::int32_t block) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  const int unused = mask.words_per_row() * 64 - mask.blocks();  // bits of the last word
  for (int h = 0; h < heads; ++h)
    for (std::int32_t q = 0; q < mask.blocks(); ++q) {
      std::ranges::fill(mask.mutable_row(h, q), ~std::uint64_t{0});
      mask.mutable_row(h, q).back() >>= unused;
    }
  return mask;
}

Request request_of(int ranks, int heads, int head_dim, std::int32_t tokens, std::int32_t block = kVolumeBlock) {
  Request request = Request::attention(ranks, heads, head_dim, dense_mask(heads, tokens, block), Dtype::kBf16);
  define_outputs(request);
  return request;
}

Parameters with_both_degrees(const Strategy& strategy, int ulysses, int ring) {
  Parameters parameters(strategy.parameters());
  if (parameters.has("ulysses")) parameters.set("ulysses", std::int64_t{ulysses});
  if (parameters.has("ring")) parameters.set("ring", std::int64_t{ring});
  return parameters;
}

Plan verified_plan(const Request& request, const char* name, int ulysses, int ring) {
  const Strategy& strategy = *find_strategy(name);
  Plan plan = make_plan(strategy, request, with_both_degrees(strategy, ulysses, ring));
  for (const PlanProblem& p : verify(plan, request)) ADD_FAILURE() << name << ": " << p.text;
  return plan;
}

std::int64_t total(const std::vector<std::int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{0});
}

const char* strategy_of(int ulysses, int ring) { return ring == 1 ? "ulysses" : ulysses == 1 ? "ring" : "usp"; }

struct PublishedVolume {
  const char* model;
  TokenGrid grid;
  int ulysses, ring;
  std::int64_t bytes;  // per rank, bf16
};

// By the closed form of docs/strategies.md: per rank (4 (U-1)/U + 2) / N of one tensor.
constexpr PublishedVolume kPublished[] = {
    {"wan2.1-t2v-14b", {21, 45, 80}, 8, 1, 338'688'000},   {"wan2.1-t2v-14b", {21, 45, 80}, 4, 2, 483'840'000},
    {"wan2.1-t2v-14b", {21, 45, 80}, 2, 4, 774'144'000},   {"wan2.1-t2v-14b", {21, 45, 80}, 1, 8, 1'354'752'000},
    {"wan2.1-t2v-14b", {21, 45, 80}, 4, 1, 580'608'000},   {"wan2.1-t2v-14b", {21, 45, 80}, 2, 2, 774'144'000},
    {"wan2.1-t2v-14b", {21, 45, 80}, 1, 4, 1'161'216'000}, {"wan2.1-t2v-14b", {21, 30, 52}, 8, 1, 146'764'800},
    {"wan2.1-t2v-14b", {21, 30, 52}, 4, 2, 209'664'000},   {"wan2.1-t2v-14b", {21, 30, 52}, 2, 4, 335'462'400},
    {"wan2.1-t2v-14b", {21, 30, 52}, 1, 8, 587'059'200},   {"wan2.1-t2v-1.3b", {21, 30, 52}, 4, 2, 62'899'200},
    {"wan2.1-t2v-1.3b", {21, 30, 52}, 2, 4, 100'638'720},  {"wan2.1-t2v-1.3b", {21, 30, 52}, 1, 8, 176'117'760},
    {"wan2.1-t2v-1.3b", {21, 30, 52}, 4, 1, 75'479'040},   {"wan2.1-t2v-1.3b", {21, 30, 52}, 1, 4, 150'958'080},
};

TEST(PublishedVolumes, AreThoseOfEveryRankWhereTokensAreCutEvenlyAndElseTheirSum) {
  for (const PublishedVolume& row : kPublished) {
    SCOPED_TRACE(std::string(row.model) + " u" + std::to_string(row.ulysses) + " r" + std::to_string(row.ring));
    const Model& model = *find_model_preset(row.model);
    const int ranks = row.ulysses * row.ring;
    const std::int32_t tokens = row.grid[0] * row.grid[1] * row.grid[2];
    const auto plan_in_blocks_of = [&](std::int32_t block) {
      const Request request = request_of(ranks, model.heads, model.head_dim, tokens, block);
      return verified_plan(request, strategy_of(row.ulysses, row.ring), row.ulysses, row.ring);
    };
    if (tokens % ranks == 0) {
      // Blocks of tokens / ranks / 5 or so: every ring chunk gets as many, and Ulysses parts come out even.
      std::int32_t block = tokens / ranks;
      while (block > kMaxBlockTokens) {
        std::int32_t divisor = 2;
        while (block % divisor != 0) ++divisor;
        block /= divisor;
      }
      const Plan plan = plan_in_blocks_of(block);
      EXPECT_EQ(bytes_sent(plan), std::vector<std::int64_t>(static_cast<std::size_t>(ranks), row.bytes));
      EXPECT_EQ(bytes_received(plan), bytes_sent(plan));
    }
    EXPECT_EQ(total(bytes_sent(plan_in_blocks_of(kVolumeBlock))), ranks * row.bytes);
  }
}

// 4 M (1 - sum_r t_r h_r / (L H)), with t_r and h_r the tokens and heads of rank r: heads and tokens of any remainder.
TEST(UlyssesVolume, FollowsTheGeneralFormForUnevenHeadsAndTokens) {
  for (const auto& [ranks, heads, tokens] :
       {std::tuple{5, 12, 1003}, {8, 12, 32'760}, {16, 24, 997}, {3, 7, 100}, {4, 30, 17'550}}) {
    const int head_dim = 8;
    const Request request = request_of(ranks, heads, head_dim, tokens);
    std::int64_t kept = 0;
    for (std::int64_t r = 0; r < ranks; ++r)
      kept += (tokens * (r + 1) / ranks - tokens * r / ranks) * (heads * (r + 1) / ranks - heads * r / ranks);
    const std::int64_t cells = std::int64_t{tokens} * heads - kept;
    EXPECT_EQ(total(bytes_sent(verified_plan(request, "ulysses", ranks, 1))), 4 * cells * head_dim * 2);
  }
}

// 2 (N-1) M whatever the cut.
TEST(RingVolume, DoesNotDependOnTheCut) {
  const Strategy& ring = *find_strategy("ring");
  for (const char* order : {"contiguous", "cyclic"}) {
    const Request request = request_of(5, 3, 8, 1003);
    Parameters parameters(ring.parameters());
    parameters.set("order", std::string(order));
    EXPECT_EQ(total(bytes_sent(make_plan(ring, request, parameters))), 2 * 4 * (1003 * 3 * 8 * 2)) << order;
  }
}

// With text on every rank, q, k and v of text never travel; its output comes back to all ranks but the one that made
// it.
TEST(ReplicatedText, OnlyItsOutputTravels) {
  const int ranks = 4, heads = 8, head_dim = 8, video = 256, text = 20;
  Request request = request_of(ranks, heads, head_dim, video + text, 16);
  request.text_tokens = text;
  request.text = TextLayout::kReplicate;
  const std::int64_t head_bytes = heads / ranks * head_dim * 2;
  const std::int64_t of_video = 4 * (ranks - 1) * (video / ranks) * head_bytes,
                     of_text = (ranks - 1) * text * head_bytes;
  for (const bool text_first : {false, true}) {
    request.text_first = text_first;
    for (const std::int64_t sent : bytes_sent(verified_plan(request, "ulysses", ranks, 1)))
      EXPECT_EQ(sent, of_video + of_text);
  }
}

// Nothing is regrouped when a Ulysses group is one rank: the plan is that of a ring, without copies of q, k, v and o.
TEST(Mesh, OfOneUlyssesRankIsARing) {
  const Request request = request_of(4, 8, 16, 18 * kVolumeBlock + 3);
  const auto kinds = [](const Plan& plan) {
    std::vector<std::tuple<PostKind, int, std::int64_t>> list;  // of each op, with its rank and its FLOPs
    for (const Op& op : plan.ops) list.emplace_back(plan.kind_of(op), op.rank, op.flops);
    return list;
  };
  for (const char* order : {"contiguous", "cyclic"}) {
    Parameters of_ring(find_strategy("ring")->parameters());
    of_ring.set("order", std::string(order));
    const Plan ring = make_plan(*find_strategy("ring"), request, of_ring);
    const bool in_turn = order == std::string_view("cyclic");
    for (const char* name : {"usp", in_turn ? "cyclic" : "dbsp"}) {
      const Strategy& strategy = *find_strategy(name);
      Parameters parameters = with_both_degrees(strategy, 1, 4);
      if (parameters.has("order")) parameters.set("order", std::string(order));
      if (parameters.has("reward")) parameters.set("reward", 1e6);  // blocks stay
      const Plan plan = make_plan(strategy, request, parameters);
      EXPECT_TRUE(verify(plan, request).empty()) << name;
      EXPECT_EQ(kinds(plan), kinds(ring)) << name << " " << order;
      EXPECT_EQ(bytes_sent(plan), bytes_sent(ring)) << name << " " << order;
    }
  }
}

}  // namespace
}  // namespace spscope
