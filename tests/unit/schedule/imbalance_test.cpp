// Ratios of small masks worked by hand and of db-SP's stress masks, the coupled recurrence of a ring, and the groups in
// which the barrier ratio waits.
#include "backend/schedule/imbalance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "backend/mask/pattern.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::dense_mask, testing::mask_of, testing::plan_of, testing::usp_plan;

ImbalanceRatios ratios(const BlockMask& mask, int ulysses, int ring) {
  const Request request = Request::attention(ulysses * ring, mask.heads(), 2, mask);
  const Plan plan = usp_plan(request, ulysses);
  return imbalance_ratios(plan, attended_area(plan));
}

void expect_ratios(const ImbalanceRatios& ratios, double barrier, double coupled, double plain, double tolerance) {
  EXPECT_NEAR(ratios.barrier, barrier, tolerance);
  EXPECT_NEAR(ratios.coupled, coupled, tolerance);
  EXPECT_NEAR(ratios.plain, plain, tolerance);
}

TEST(Imbalance, MatchesTheGoldenVectorsOfTheBandMask) {
  const BlockMask mask =
      mask_of(2, 4, 2, [](int h, int q, int k) { return std::abs(q - k) <= 1 || (h == 1 && k == 0); });
  EXPECT_NEAR(ratios(mask, 2, 1).barrier, 1.0909, 5e-5);
  EXPECT_NEAR(ratios(mask, 1, 2).barrier, 1.0909, 5e-5);
  EXPECT_NEAR(ratios(mask, 2, 2).barrier, 1.2727, 5e-5);
  EXPECT_NEAR(ratios(mask, 1, 4).barrier, 1.2727, 5e-5);
}

// The patterns of that name, at the size of db-SP's ablation. Heads alone are uneven in `headwise`; columns of keys in
// `tokenwise`, for the barrier only; everything in `hybrid-window`. Of `chess` every second step is empty.
TEST(Imbalance, StressPatternsHaveTheirPublishedRatios) {
  struct Expected {
    const char* pattern;
    int ulysses, ring;
    double barrier, coupled, plain, tolerance;
  };
  constexpr Expected kExpected[] = {
      {"headwise", 8, 1, 2.5, 2.5, 2.5, 1e-12},
      {"headwise", 4, 1, 1.5, 1.5, 1.5, 1e-12},
      {"headwise", 2, 1, 1, 1, 1, 1e-12},
      {"headwise", 1, 8, 1, 1, 1, 1e-12},
      {"tokenwise", 1, 8, 1.257, 1.10, 1.00, 5e-3},
      {"tokenwise", 1, 4, 1.257, 1.00, 1.00, 5e-4},
      {"tokenwise", 1, 2, 1.257, 1.00, 1.00, 5e-4},
      {"hybrid-window", 8, 1, 1.676, 1.676, 1.676, 5e-4},
      {"hybrid-window", 4, 1, 1.608, 1.608, 1.608, 5e-4},
      {"hybrid-window", 2, 1, 1.442, 1.442, 1.442, 5e-4},
      {"hybrid-window", 1, 8, 1.287, 1.287, 1.287, 5e-4},
      {"hybrid-window", 1, 4, 1.287, 1.287, 1.287, 5e-4},
      {"hybrid-window", 1, 2, 1.278, 1.278, 1.278, 5e-4},
      {"chess", 4, 2, 1, 1, 1, 1e-12},
      {"chess", 2, 4, 1, 1, 1, 1e-12},
      {"chess", 1, 8, 1, 1, 1, 1e-12},
  };
  for (const Expected& e : kExpected) {
    SCOPED_TRACE(std::string(e.pattern) + " u" + std::to_string(e.ulysses) + " r" + std::to_string(e.ring));
    const Pattern& pattern = *find_pattern(e.pattern);
    PatternRequest request;
    request.heads = 40;
    request.grid = {32, 37, 2};
    request.block = 2;
    request.parameters = Parameters(pattern.parameters());
    expect_ratios(ratios(pattern.generate(request), e.ulysses, e.ring), e.barrier, e.coupled, e.plain, e.tolerance);
  }
}

// Tiles at (0,0) (1,2) (2,1) (3,3): rows and columns are even, every step has one busy rank.
TEST(Imbalance, AntiMarginalMaskTellsTheThreeRatiosApart) {
  constexpr std::array<int, 4> kColumn = {0, 2, 1, 3};
  const BlockMask mask = mask_of(1, 4, 2, [&](int, int q, int k) { return kColumn[static_cast<std::size_t>(q)] == k; });
  expect_ratios(ratios(mask, 1, 4), 3, 2, 1, 1e-12);
}

// Two rings of two, busy in opposite steps: inside each ring the steps are uneven by a factor of 4/3 at most; over all
// ranks every step has a busiest rank.
TEST(Imbalance, TheLiteralFormWaitsForAllRanksTheCodesFormForTheRing) {
  // head 0: only the own chunk (step 0); head 1: only the other chunk (step 1)
  const BlockMask mask = mask_of(2, 2, 4, [](int h, int q, int k) { return (q == k) == (h == 0); });
  const ImbalanceRatios result = ratios(mask, 2, 2);
  EXPECT_DOUBLE_EQ(result.barrier, 1);
  EXPECT_DOUBLE_EQ(result.barrier_all_ranks, 2);
  EXPECT_DOUBLE_EQ(result.plain, 1);
}

TEST(Imbalance, CoupledIsTheRecurrenceOverItsMean) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const int ranks = std::array{2, 3, 4, 5, 8}[seed % 5];
    const BlockMask mask = testing::random_mask(1, 17 * 4, 4, 0.15, seed);
    const Request request = Request::attention(ranks, 1, 2, mask);
    const Plan plan = plan_of(request, "ring");
    const std::vector<std::int64_t> area = attended_area(plan);
    const auto n = static_cast<std::size_t>(ranks);
    std::vector<std::vector<std::int64_t>> compute(n, std::vector<std::int64_t>(n)), start = compute;
    double mean = 0;
    for (std::size_t id = 0; id < area.size(); ++id) {
      const Op& op = plan.ops[id];
      if (area[id] == 0) continue;
      compute[static_cast<std::size_t>(op.rank)][static_cast<std::size_t>(plan.post_of(op).ring_step)] += area[id];
      mean += static_cast<double>(area[id]) / ranks;
    }
    std::int64_t last = 0;
    for (std::size_t s = 0; s < n; ++s)
      for (std::size_t r = 0; r < n; ++r) {
        if (s > 0)
          start[r][s] =
              std::max({start[r][s - 1] + compute[r][s - 1], start[(r + n - 1) % n][s - 1], start[(r + 1) % n][s - 1]});
        last = std::max(last, start[r][s] + compute[r][s]);
      }
    EXPECT_DOUBLE_EQ(imbalance_ratios(plan, area).coupled, static_cast<double>(last) / mean) << "seed " << seed;
  }
}

TEST(Imbalance, IsOneWithoutWork) {
  const BlockMask empty(2, BlockMask::uniform_starts(16, 4));
  expect_ratios(ratios(empty, 1, 2), 1, 1, 1, 0);
}

TEST(Imbalance, TakesWorkOfAnyUnit) {
  const Request request = Request::attention(2, 2, 2, dense_mask(2, 2, 4));
  const Plan plan = plan_of(request, "ulysses");
  const auto ns = testing::attend_durations(plan, [](const Op& op, const Post&) { return op.rank == 0 ? 300 : 100; });
  EXPECT_DOUBLE_EQ(imbalance_ratios(plan, ns).plain, 1.5);
  EXPECT_DOUBLE_EQ(imbalance_ratios(plan, ns).coupled, 1.5);
}

// Rows in two boxes make two attends a step; both count.
TEST(Imbalance, AddsUpAttendsOfOneStep) {
  const Request request = Request::attention(2, 2, 2, dense_mask(2, 4, 4));
  PlanBuilder b(request);
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), 2), half = b.sets().even(request.all_inner(), 2);
  const auto rows = [&](int r) { return half[static_cast<std::size_t>(r)]; };
  const ValueId q = b.input(kQueries, b.place([&](int r) {
    return BoxList{{heads[0], request.all_outer(), rows(r)}, {heads[1], request.all_outer(), rows(r)}};
  }));
  const ValueId kv = b.input(kKeysValues, testing::token_runs(b));
  const AccId acc = b.accumulate(q);
  const Move hop = b.shift(kv, b.everyone());
  b.attend(acc, kv, 0);
  b.attend(acc, b.wait(hop), 1);
  b.finish(acc);
  const Plan plan = b.take();
  expect_ratios(imbalance_ratios(plan, attended_area(plan)), 1, 1, 1, 1e-12);
}

// Rank 0 attends in layer 0, rank 1 in layer 1: two steps of which each has one busy rank.
TEST(Imbalance, TellsStepsOfLayersApart) {
  const Request request = Request::attention(2, 2, 2, dense_mask(2, 4, 4));
  PlanBuilder b(request);
  for (const int layer : {0, 1}) {
    const auto [q, kv] = b.input_qkv(testing::whole_at(b, layer), layer);
    b.attend_all(q, kv);
  }
  const Plan plan = b.take();
  EXPECT_DOUBLE_EQ(imbalance_ratios(plan, attended_area(plan)).barrier_all_ranks, 2);
  EXPECT_DOUBLE_EQ(imbalance_ratios(plan, attended_area(plan)).plain, 1);
}

TEST(RingGroups, AreTheRanksBetweenWhichKeysOrQueriesTravel) {
  Request request = Request::attention(6, 6, 2, dense_mask(6, 12, 4));
  request.ranks_per_node = 3;
  const auto usp = [&](const char* ranks) {
    return plan_of(request, "usp",
                   {{"ulysses", std::int64_t{2}}, {"ring", std::int64_t{3}}, {"ranks", std::string(ranks)}});
  };
  EXPECT_EQ(ring_groups(usp("contiguous")), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(ring_groups(usp("strided")), (std::vector<int>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ring_groups(plan_of(request, "ulysses")), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  for (const Plan& plan : {plan_of(request, "ring"), testing::build(testing::plan_token_ring, request),
                           plan_of(request, "burst", {{"order", std::string("cyclic")}})})
    EXPECT_EQ(ring_groups(plan), std::vector<int>(6, 0));
}

}  // namespace
}  // namespace spscope
