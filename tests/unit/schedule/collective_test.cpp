// One collective by itself takes max(floor, t0 + bytes / rate), whatever its algorithm.
#include <gtest/gtest.h>

#include <cmath>

#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::dense_mask, testing::head_runs, testing::token_runs;

constexpr int kRanks = 8;

NetworkProfile curves() {
  NetworkProfile profile;
  profile.link_gbps = 900;
  profile.intra_latency_ns = 5;
  profile.point_to_point = {.floor_ns = 200, .t0_ns = 61, .gbps = 197};
  profile.all_to_all = {.floor_ns = 1765, .t0_ns = 430, .gbps = 33.8};
  profile.all_gather = {.floor_ns = 1471, .t0_ns = 304, .gbps = 34.45};
  profile.reduce_scatter = {.floor_ns = 1449, .t0_ns = 331, .gbps = 34.48};
  profile.all_reduce = {.floor_ns = 1462, .t0_ns = 418, .gbps = 45.51};
  profile.one_sided = {.t0_ns = 17, .gbps = 83};
  return profile;
}

std::int64_t by_formula(const CollectiveCurve& curve, double bytes) {
  return std::max(std::llround(curve.floor_ns), std::llround(std::ceil(curve.t0_ns + bytes / curve.gbps - 1e-6)));
}

// Bytes of a tensor: 64 a token.
Request request_of(std::int32_t tokens) {
  const std::int32_t block = std::min(tokens / 8, 256);
  return Request::attention(kRanks, 8, 4, dense_mask(8, tokens / block, block));
}

Placement whole(PlanBuilder& b, const Request& request) {
  return b.place([&](int) { return BoxList{request.whole(Axis::kHeads)}; });
}

std::int64_t makespan(const Plan& plan, const Network& network) {
  return schedule(plan, std::vector<std::int64_t>(plan.ops.size(), 0), network).makespan_ns();
}

struct Timed {
  Collective collective;
  std::int64_t ns;
  double bytes;  // the most that a rank sends
};

template <typename Collective>
Timed time_of(std::int32_t tokens, const Network& network, Collective&& collective) {
  const Request request = request_of(tokens);
  PlanBuilder b(request);
  collective(b, request);
  const Plan plan = b.take();
  const std::vector<std::int64_t> sent = bytes_sent(plan);
  return {plan.posts.back().collective, makespan(plan, network), static_cast<double>(std::ranges::max(sent))};
}

TEST(CollectiveTimes, TakeTheTimeOfTheirCurveAtEverySize) {
  const NetworkProfile profile = curves();
  const Network network = Network::from_profile(profile, kRanks, 0);
  for (const std::int32_t tokens : {8, 64, 256, 512, 1024, 4096, 32768}) {
    SCOPED_TRACE(tokens);
    const Timed exchanged = time_of(tokens, network, [](PlanBuilder& b, const Request&) {
      const ValueId q = b.input(kQueries, token_runs(b));
      b.reshard(q, head_runs(b));
    });
    EXPECT_EQ(exchanged.collective, Collective::kAllToAll);
    EXPECT_EQ(exchanged.bytes, 7.0 / 64 * tokens * 8 * 4 * 2);
    EXPECT_EQ(exchanged.ns, by_formula(profile.all_to_all, exchanged.bytes));

    const Timed gathered = time_of(tokens, network, [](PlanBuilder& b, const Request& request) {
      const ValueId q = b.input(kQueries, token_runs(b));
      b.reshard(q, whole(b, request));
    });
    EXPECT_EQ(gathered.collective, Collective::kAllGather);
    EXPECT_EQ(gathered.bytes, 7.0 / 8 * tokens * 8 * 4 * 2);
    EXPECT_EQ(gathered.ns, by_formula(profile.all_gather, gathered.bytes));

    const Timed hop = time_of(tokens, network, [](PlanBuilder& b, const Request&) {
      const ValueId q = b.input(kQueries, token_runs(b));
      b.wait(b.shift(q, b.everyone()));
    });
    EXPECT_EQ(hop.collective, Collective::kPointToPoint);
    EXPECT_EQ(hop.ns, by_formula(profile.point_to_point, hop.bytes));

    const Timed pull = time_of(tokens, network, [](PlanBuilder& b, const Request&) {
      const ValueId q = b.input(kQueries, token_runs(b));
      b.wait(b.pull(q, b.placement_of(q).rotate(b.everyone(), 1)));
    });
    EXPECT_EQ(pull.collective, Collective::kOneSided);
    EXPECT_EQ(pull.ns, by_formula(profile.one_sided, pull.bytes));
  }
}

// The all-to-all of 2,048 bytes of a rank to each other alone takes 7 x 2048 / 33.8 = 424.1, the gather of the same
// bytes 7 x 2048 / 34.45 = 416.1; at once on the same ports, one after the other: both are served in half the time that
// the sum takes, and the rest alone.
TEST(CollectiveTimes, DifferentKindsSharesThePorts) {
  NetworkProfile profile = curves();
  profile.all_to_all.floor_ns = profile.all_to_all.t0_ns = 0;
  profile.all_gather.floor_ns = profile.all_gather.t0_ns = 0;
  const Request request = request_of(2048);
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, token_runs(b));
  const Move all_to_all = b.exchange(q, head_runs(b), {}, 1);
  const Move gather = b.exchange(q, whole(b, request), {}, 2);
  b.wait(all_to_all);
  b.wait(gather);
  const Plan plan = b.take();
  const double tensor = 2048 * 8 * 4 * 2;
  EXPECT_EQ(makespan(plan, Network::from_profile(profile, kRanks, 0)),
            std::llround(std::ceil(7.0 / 64 * tensor / 33.8 + 7.0 / 8 * tensor / 34.45)));
}

}  // namespace
}  // namespace spscope
