#include "backend/schedule/bound.h"

#include <gtest/gtest.h>

#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

constexpr KernelCostProfile kCosts{.attend_ns_per_launch = 100,
                                   .attend_ns_per_row = 2,
                                   .attend_ns_per_pair_channel = 0.5,
                                   .move_ns_per_byte = 0.25,
                                   .gemm_ns_per_flop = 0.125};

std::int64_t makespan_ns(const Plan& plan) {
  return schedule(plan, op_durations(plan, kCosts), Network::instant(plan.ranks)).makespan_ns();
}

// One rank, all rows active: nothing can be saved, so the bound is the makespan of `single` itself.
TEST(MakespanBound, IsReachedByOneRank) {
  const Request request = Request::attention(1, 2, 4, testing::dense_mask(2, 2, 8));
  const Plan single = testing::plan_of(request, "single");
  EXPECT_EQ(makespan_ns(single), 100 + 2 * 32 + 512 * 4 / 2 + (768 + 256) / 4);
  EXPECT_GE(makespan_bound_ns(request, single, kCosts), makespan_ns(single) - 1);
  EXPECT_LE(makespan_bound_ns(request, single, kCosts), makespan_ns(single));
}

// A query without keys is a row of no kernel that skips it: 8 of the 16 queries of the only head are active.
TEST(MakespanBound, CountsOnlyRowsWithKeys) {
  const Request request =
      Request::attention(1, 1, 4, testing::mask_of(1, 2, 8, [](int, int q, int k) { return q == 0 && k == 1; }));
  const KernelCostProfile rows_only{.attend_ns_per_row = 2};
  EXPECT_GE(makespan_bound_ns(request, testing::plan_of(request, "single"), rows_only), 2 * 8 - 1);
  EXPECT_LE(makespan_bound_ns(request, testing::plan_of(request, "single"), rows_only), 2 * 8);
}

// An even split of a dense mask over heads comes close: only launches and rounding are left.
TEST(MakespanBound, IsTightForAnEvenSplit) {
  const Request request = Request::attention(4, 4, 4, testing::dense_mask(4, 4, 8));
  const std::int64_t bound_ns = makespan_bound_ns(request, testing::plan_of(request, "single"), kCosts);
  const std::int64_t reached_ns = makespan_ns(testing::plan_of(request, "ulysses"));
  EXPECT_LE(reached_ns - bound_ns, 100);
}

}  // namespace
}  // namespace spscope
