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

}  // namespace
}  // namespace spscope::testing
