// Sent bytes of the library's plans against closed forms. M is one tensor of the whole layer, m = M / N a rank's share;
// s bytes an element. The executor counts the same bytes as it copies (plan_library_test.cpp).
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), std::int64_t{0});
}

// Bytes of one tensor of heads x head_dim columns.
std::int64_t tensor_bytes(const LayerShape& s) {
  return std::int64_t{s.heads} * s.head_dim * s.outer * s.inner * s.batch * dtype_bytes(s.dtype);
}

std::vector<std::int64_t> sent(const PlanFunction& plan, const LayerShape& shape,
                               LayerKind kind = LayerKind::kAttention) {
  return bytes_sent(build(plan, layer_request(shape, kind)));
}

TEST(PlanBytes, TokenRingSendsQueriesOnAndFp32RowsBack) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp32})
    for (const int batch : {1, 3})
      for (const int n : {2, 3, 4}) {
        const LayerShape shape{.ranks = n, .inner = n * 16, .batch = batch, .dtype = dtype};
        const std::int64_t m = tensor_bytes(shape) / n, s = dtype_bytes(dtype);
        const std::int64_t stats = 8 * std::int64_t{shape.inner} * shape.heads * batch / n;
        for (const std::int64_t bytes : sent(plan_token_ring, shape))
          EXPECT_EQ(bytes, (n - 1) * (m + 4 * m / s + stats)) << n << " ranks, batch " << batch;
      }
}

TEST(PlanBytes, KeysTravelOnceToEveryOtherRank) {
  for (const int n : {2, 3, 4, 6}) {
    const LayerShape shape{.ranks = n, .batch = 2};
    const std::int64_t want = 2 * (n - 1) * tensor_bytes(shape);
    EXPECT_EQ(sum(sent(plan_striped_ring, shape)), want);
    EXPECT_EQ(sum(sent(plan_allgather_kv, shape)), want);
    EXPECT_EQ(sum(sent(plan_two_way_ring, shape)), want);
    const PlanFunction double_ring = [&](PlanBuilder& b, const Request& r) { plan_double_ring(b, r, n % 2 ? 1 : 2); };
    EXPECT_EQ(sum(sent(double_ring, shape)), want);
  }
}

TEST(PlanBytes, DoubleRingCrossesNodesOncePerRound) {
  const LayerShape shape{.ranks = 6, .inner = 96};
  const Request request = layer_request(shape, LayerKind::kAttention);
  const Plan plan = build([](PlanBuilder& b, const Request& r) { plan_double_ring(b, r, 2); }, request);
  std::int64_t between = 0;
  for (const Message& m : plan.messages)
    if (m.src / 3 != m.dst / 3) between += m.bytes;
  EXPECT_EQ(between, 2 * tensor_bytes(shape));  // 2 (nodes - 1) m for each of the ranks
}

TEST(PlanBytes, PipelinedUlyssesSendsNoMoreThanUlysses) {
  const LayerShape shape{.ranks = 3, .heads = 8};
  EXPECT_EQ(sum(sent(plan_pipelined_ulysses, shape)), sum(sent(strategy_plan("ulysses"), shape)));
}

// Between machines 4 (Nm - 1) / Nm M; inside, Ulysses 4 (Uin - 1) / Uin / Nm M and rings 2 (Pr - 1) M; all ranks alike.
TEST(PlanBytes, TorusSplitsItsBytesBetweenAndInsideMachines) {
  struct Case {
    int machines, ulysses, ring;
  };
  for (const auto& [machines, ulysses, ring] :
       {Case{2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {2, 1, 2}, {2, 2, 2}, {3, 1, 2}, {4, 1, 2}})
    for (const bool barrier : {true, false}) {
      const int per_machine = ulysses * ring, n = machines * per_machine;
      const LayerShape shape{.ranks = n, .heads = machines * ulysses, .inner = n * 8, .batch = 2};
      const Request request = layer_request(shape, LayerKind::kRotaryAttention);
      const Plan plan = build(
          [&](PlanBuilder& b, const Request& r) {
            plan_torus(b, r, {machines, ulysses, barrier});
          },
          request);
      std::int64_t between = 0;
      for (const Message& m : plan.messages)
        if (m.src / per_machine != m.dst / per_machine) between += m.bytes;
      const std::vector<std::int64_t> bytes = bytes_sent(plan);
      const std::int64_t whole = tensor_bytes(shape);
      EXPECT_EQ(between * machines, 4 * (machines - 1) * whole);
      EXPECT_EQ((sum(bytes) - between) * ulysses * machines,
                (4 * (ulysses - 1) + 2 * (ring - 1) * machines * ulysses) * whole);
      for (const std::int64_t b : bytes) EXPECT_EQ(b, bytes.front());
    }
}

// A switch of the hidden state is one all-to-all, attention by heads needs four, a ring 2 (N - 1) hops of k and v.
TEST(PlanBytes, SpatialTemporalLayersSwitchOrExchangeOrCirculate) {
  for (const int n : {2, 3, 4}) {
    const LayerShape shape{.ranks = n, .heads = 12, .outer = 12, .inner = 24, .block = 4};
    const std::int64_t whole = tensor_bytes(shape);
    EXPECT_EQ(sum(sent(plan_dsp, shape, LayerKind::kSpatialTemporal)), 2 * (n - 1) * whole / n);
    EXPECT_EQ(sum(sent(strategy_plan("ulysses"), shape)), 4 * (n - 1) * whole / n);
    EXPECT_EQ(sum(sent(strategy_plan("ring"), shape)), 2 * (n - 1) * whole);
  }
}

// Two blocks, each a reduce-scatter and an all-gather of the state, and norm statistics of q in fp32 beside them.
TEST(PlanBytes, MegatronSendsFourStatesAndItsNorms) {
  for (const int n : {2, 3, 4})
    for (const bool sequence_parallel : {false, true}) {
      const LayerShape shape{.ranks = n, .heads = 12, .ffn = 24, .batch = 2};
      const PlanFunction plan = [&](PlanBuilder& b, const Request& r) { plan_megatron(b, r, sequence_parallel); };
      const std::int64_t norms = 2 * (n - 1) * std::int64_t{shape.inner} * shape.batch * 4;
      EXPECT_EQ(sum(sent(plan, shape, LayerKind::kMegatronLayer)), 4 * (n - 1) * tensor_bytes(shape) + norms);
    }
}

// Every (head, key) that a rank's rows need and that it does not hold comes once, k and v; counted bit by bit.
TEST(PlanBytes, DsvFetchesTheKeysThatRowsNeed) {
  const LayerShape shape{.ranks = 4};
  const Request request = layer_request(shape, LayerKind::kAttention);
  const BlockMask& mask = request.executed_mask().mask();
  const std::int32_t blocks = mask.blocks();
  std::int64_t tokens = 0;
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank)
    for (int head = 0; head < shape.heads; ++head)
      for (std::int32_t k = 0; k < blocks; ++k) {
        const std::int32_t first = blocks * rank / shape.ranks, last = blocks * (rank + 1) / shape.ranks;
        bool needed = false;
        for (std::int32_t q = first; q < last; ++q) needed = needed || mask.active(head, q, k);
        if (needed && (k < first || k >= last)) tokens += mask.block(k).size();
      }
  const PlanFunction plan = [](PlanBuilder& b, const Request& r) { plan_dsv(b, r, 1); };
  EXPECT_EQ(sum(sent(plan, shape)), 2 * tokens * shape.head_dim * dtype_bytes(shape.dtype));
  EXPECT_LT(sum(sent(plan, shape)), sum(sent(plan_allgather_kv, shape)));
}

// USP's bytes, and q and o, and k and v, of the blocks that leave their home group.
TEST(PlanBytes, BalancedUspAddsTheBlocksThatMove) {
  const int u = 2, r = 3;
  const LayerShape shape{.ranks = u * r, .heads = 4, .inner = 12 * 8};
  const Request request = layer_request(shape, LayerKind::kAttention);
  const BlockMask& mask = request.executed_mask().mask();
  const auto moved = [&](bool rows) {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(mask.blocks()), 0);
    for (int head = 0; head < mask.heads(); ++head)
      for (std::int32_t a = 0; a < mask.blocks(); ++a)
        for (std::int32_t c = 0; c < mask.blocks(); ++c)
          weights[static_cast<std::size_t>(a)] += rows ? mask.active(head, a, c) : mask.active(head, c, a);
    const auto groups = assign_longest_first(weights, r, mask.blocks() / r);
    std::int64_t count = 0;
    for (int g = 0; g < r; ++g)
      for (std::int32_t block : groups[static_cast<std::size_t>(g)]) count += block / (mask.blocks() / r) != g;
    return count;
  };
  const std::int64_t whole = tensor_bytes(shape), base = (4 * (u - 1) * whole) / u + 2 * (r - 1) * whole;
  const auto balanced = [&](bool queries_only) {
    return sum(sent([=](PlanBuilder& b, const Request& q) { plan_balanced_usp(b, q, u, queries_only); }, shape));
  };
  EXPECT_GT(moved(true), 0);
  EXPECT_EQ(balanced(true), base + 2 * moved(true) * whole / mask.blocks());
  EXPECT_EQ(balanced(false), base + 2 * (moved(true) + moved(false)) * whole / mask.blocks());
}

}  // namespace
}  // namespace spscope::testing
