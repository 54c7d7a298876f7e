// Library plans on a modelled network: overlap by hand-worked makespans.
#include <gtest/gtest.h>

#include "backend/schedule/schedule.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {

namespace {

// All tiles active and all parts of one size, so that every attend of a plan takes the same time.
Request dense_request(int ranks, int heads) {
  constexpr std::int32_t kBlock = 8;
  BlockMask mask(heads, BlockMask::uniform_starts(ranks * kBlock, kBlock));
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < ranks; ++q)
      for (std::int32_t k = 0; k < ranks; ++k) mask.set(head, q, k);
  return Request::attention(ranks, heads, 4, std::move(mask));
}

constexpr std::int64_t kAttend = 1000;  // ns

std::vector<std::int64_t> attend_durations(const Plan& plan, std::int64_t duration_ns) {
  std::vector<std::int64_t> durations_ns;
  for (const Op& op : plan.ops) durations_ns.push_back(plan.kind_of(op) == PostKind::kAttend ? duration_ns : 0);
  return durations_ns;
}

std::int64_t makespan_ns(const PlanFunction& function, const Request& request, std::int64_t latency_ns) {
  const Plan plan = build(function, request);
  Network network = Network::instant(request.ranks);
  network.intra_latency_ns = latency_ns;
  return schedule(plan, attend_durations(plan, kAttend), network).makespan_ns();
}

TEST(PlanSchedule, TokenRingHidesItsHopsAndWaitsForTheLastRowsToReturn) {
  for (const int n : {2, 3, 5}) {
    const Request request = dense_request(n, 2);
    // A hop shorter than an attend is hidden: n attends in a row, then the way home of the last rows.
    for (const std::int64_t hop_ns : {std::int64_t{0}, kAttend / 2, kAttend})
      EXPECT_EQ(makespan_ns(plan_token_ring, request, hop_ns), n * kAttend + hop_ns);
    // A longer one sets the pace: n - 1 hops, the last attend, and the way home.
    EXPECT_EQ(makespan_ns(plan_token_ring, request, 3 * kAttend), (n - 1) * 3 * kAttend + kAttend + 3 * kAttend);
  }
}

TEST(PlanSchedule, TorusHidesPullsAndPushesBehindItsStages) {
  const Request request = dense_request(2, 2);
  const auto torus = [](bool barrier) {
    return [=](PlanBuilder& b, const Request& r) { plan_torus(b, r, {2, 1, barrier}); };
  };
  // Four attends a rank: local, pulled queries x local keys, pulled x remote, and the deferred local x remote, behind
  // which the push hides. A barrier of two ranks takes a latency at either end.
  for (const std::int64_t latency_ns : {std::int64_t{0}, kAttend / 2, kAttend}) {
    EXPECT_EQ(makespan_ns(torus(false), request, latency_ns), 4 * kAttend);
    EXPECT_EQ(makespan_ns(torus(true), request, latency_ns), 4 * kAttend + 2 * latency_ns);
  }
}

TEST(PlanSchedule, PipelinedUlyssesHidesTheSecondExchange) {
  const Request request = dense_request(2, 4);  // two heads a rank, in two chunks
  const auto ulysses = strategy_plan("ulysses");
  const std::int64_t latency_ns = kAttend / 4;
  // q, then kv, then attention of both heads at once, then the way back.
  EXPECT_EQ(makespan_ns(ulysses, request, latency_ns), 2 * latency_ns + kAttend + latency_ns);
  // The second q and kv arrive during the first attention, the first rows return during the second.
  EXPECT_EQ(makespan_ns(plan_pipelined_ulysses, request, latency_ns), 2 * latency_ns + 2 * kAttend + latency_ns);
}

}  // namespace
}  // namespace spscope::testing
