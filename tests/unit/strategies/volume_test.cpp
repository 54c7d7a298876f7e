// Sent bytes of the strategies against published numbers, from the plan at full size. tests/oracle holds them against
// their closed forms; that runs move the bytes of their plans is proven by the conformance tests.
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
