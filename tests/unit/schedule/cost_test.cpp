#include "backend/schedule/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

constexpr KernelCostProfile kProfile{.attend_ns_per_launch = 100,
                                     .attend_ns_per_row = 2,
                                     .attend_ns_per_pair_channel = 0.5,
                                     .move_ns_per_byte = 0.25,
                                     .gemm_ns_per_flop = 0.125};

std::vector<std::int64_t> durations_of(const Plan& plan, PostKind kind) {
  const std::vector<std::int64_t> all = op_durations(plan, kProfile);
  std::vector<std::int64_t> kept;
  for (std::size_t id = 0; id < all.size(); ++id)
    if (plan.kind_of(plan.ops[id]) == kind) kept.push_back(all[id]);
  return kept;
}

// 2 heads x 16 queries; head 0 has 1 tile of 8 x 8, head 1 has 3: area 256. 100 + 2 x 32 + 0.5 x 256 x 4 = 676. The
// finish reads 2 x 16 x 6 x 4 = 768 bytes and writes 256.
TEST(Cost, OfAnAttendIsAffineInRowsAndArea) {
  const BlockMask mask = testing::mask_of(2, 2, 8, [](int h, int q, int k) { return h == 1 ? q + k < 2 : q + k == 0; });
  const Request request = Request::attention(1, 2, 4, mask);
  const Plan plan = testing::plan_of(request, "single");
  EXPECT_EQ(attend_num_rows(plan, plan.ops.front()), 32);
  EXPECT_EQ(attend_area(plan, plan.ops.front()), 256);
  EXPECT_EQ(durations_of(plan, PostKind::kAttend), (std::vector<std::int64_t>{676}));
  EXPECT_EQ(durations_of(plan, PostKind::kFinish), (std::vector<std::int64_t>{(768 + 256) / 4}));
}

TEST(Cost, CountsSequencesAndBatch) {
  Request request = Request::attention(1, 2, 4, testing::dense_mask(2, 2, 8));
  request.batch = 3;
  const Plan plan = testing::plan_of(request, "single");
  EXPECT_EQ(attend_num_rows(plan, plan.ops.front()), 3 * 32);
  EXPECT_EQ(attend_area(plan, plan.ops.front()), 3 * 2 * 16 * 16);
  EXPECT_EQ(durations_of(plan, PostKind::kFinish), (std::vector<std::int64_t>{3 * (768 + 256) / 4}));
}

// Two ranks, 2 heads x 8 tokens each. A part of unfinished rows and an accumulator are 2 x 8 x 6 x 4 = 384 bytes: the
// merge reads the part, reads and writes the accumulator.
TEST(Cost, OfAMergeIsAPartAndTwiceTheAccumulator) {
  const Request request = Request::attention(2, 2, 4, testing::dense_mask(2, 2, 8));
  EXPECT_EQ(durations_of(testing::build(testing::plan_token_ring, request), PostKind::kMerge),
            std::vector<std::int64_t>(2, 3 * 384 / 4));
}

// Slices of a quarter of a block: pairs take 1.5^2 times as long, launches and rows what they took.
TEST(Cost, OfPairsIsMoreForEachHalvingOfATileBelowTheMasksBlock) {
  const Request request = Request::attention(4, 2, 4, testing::dense_mask(2, 2, 8));
  const Plan plan = testing::plan_of(request, "burst");
  const auto attend = std::ranges::find(plan.ops, PostKind::kAttend, [&](const Op& op) { return plan.kind_of(op); });
  KernelCostProfile profile = kProfile;
  const double others_ns = 100 + 2.0 * static_cast<double>(attend_num_rows(plan, *attend));
  const double pairs_ns = op_cost_ns(plan, *attend, profile) - others_ns;
  EXPECT_EQ(pairs_ns, 0.5 * 4 * static_cast<double>(attend_area(plan, *attend)));
  profile.small_tile = 1.5;
  EXPECT_DOUBLE_EQ(op_cost_ns(plan, *attend, profile) - others_ns, 1.5 * 1.5 * pairs_ns);
  const AttendParts parts = attend_parts(plan, *attend, profile);
  EXPECT_EQ(parts.launch_ns + parts.rows_ns, static_cast<std::int64_t>(others_ns));
}

TEST(Cost, RoundsUpToWholeNanoseconds) {
  const Request request = Request::attention(1, 1, 1, testing::dense_mask(1, 1, 1));
  const Plan plan = testing::plan_of(request, "single");
  EXPECT_EQ(op_durations(plan, {.attend_ns_per_launch = 1.25}).front(), 2);
}

}  // namespace
}  // namespace spscope
