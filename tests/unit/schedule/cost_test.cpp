#include "backend/schedule/cost.h"

#include <gtest/gtest.h>

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

TEST(Cost, OfCommunicationIsLeftToTheNetwork) {
  const Request request = Request::attention(2, 2, 4, testing::dense_mask(2, 2, 8));
  EXPECT_EQ(durations_of(testing::plan_of(request, "ulysses"), PostKind::kExchange), std::vector<std::int64_t>(6, 0));
}

// 16 tokens of 2 heads; q in and out is 2 x 256 bytes = 128 ns, and 100 FLOPs a cell and 800 a head 4,800 FLOPs = 600
// ns.
TEST(Cost, OfATokenLocalKernelThatComputesIsItsFlops) {
  Request request = Request::attention(1, 2, 4, testing::dense_mask(2, 2, 8));
  request.kernels = {{"dense", false, Axis::kHeads, Axis::kHeads, {}, 100, 800}};
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, b.place([&](int) { return BoxList{request.whole()}; }));
  b.local("dense", {&q, 1});
  EXPECT_EQ(durations_of(b.take(), PostKind::kLocal), (std::vector<std::int64_t>{600}));
}

// Two ranks, 2 heads x 8 tokens each. A part of unfinished rows and an accumulator are 2 x 8 x 6 x 4 = 384 bytes: the
// merge reads the part, reads and writes the accumulator.
TEST(Cost, OfAMergeIsAPartAndTwiceTheAccumulator) {
  const Request request = Request::attention(2, 2, 4, testing::dense_mask(2, 2, 8));
  EXPECT_EQ(durations_of(testing::build(testing::plan_token_ring, request), PostKind::kMerge),
            std::vector<std::int64_t>(2, 3 * 384 / 4));
}

// 16 tokens, hidden 8: x is 256 bytes. A GEMM to 8 columns takes 2 x 16 x 8 x 8 = 2048 FLOPs; a sum of squares to one
// fp32 column 2 x 16 x 8 = 256 FLOPs = 32 ns, less than its 256 + 64 bytes. An addition reads 2 x 256 and writes 256.
// Code that is not fused moves the bytes of the last two once for each pass.
TEST(Cost, OfALocalKernelIsItsFlopsOrItsBytesInEachPass) {
  Request request = Request::attention(1, 2, 4, testing::dense_mask(2, 2, 8));
  request.hidden = 8;
  request.kernels = {{"wx", true, Axis::kHidden, Axis::kHidden, kHiddenState},
                     {"sumsq", true, Axis::kHidden, Axis::kStat, {Tensor::kNorm}}};
  PlanBuilder b(request);
  const ValueId x =
      b.input(kHiddenState, b.place([&](int) { return BoxList{request.whole(Axis::kHidden)}; }), Axis::kHidden);
  const ValueId y = b.linear(x, "wx");
  b.linear(y, "sumsq");
  b.local("residual", std::vector<ValueId>{x, y});
  const Plan plan = b.take();
  EXPECT_EQ(op_durations(plan, kProfile), (std::vector<std::int64_t>{256, (256 + 64) / 4, 3 * 256 / 4}));
  KernelCostProfile profile = kProfile;
  profile.elementwise_passes = 3;
  EXPECT_EQ(op_durations(plan, profile), (std::vector<std::int64_t>{256, 3 * (256 + 64) / 4, 3 * 3 * 256 / 4}));
  // One launch; 3 passes over x and a statistic a quarter of it; 3 over two operands and a result.
  profile.host_ns_per_launch = 1000;
  EXPECT_EQ(host_times(plan, profile).issue_ns, (std::vector<std::int64_t>{0, 1000, 1000 + 3750}));
}

// Queries and keys of 4 channels run as 32; a row costs 5 keys more: 100 + 2 x 32 + 0.5 x 32 x (256 + 5 x 32).
TEST(Cost, OfAnAttendPadsHeadsAndRampsUp) {
  const BlockMask mask = testing::mask_of(2, 2, 8, [](int h, int q, int k) { return h == 1 ? q + k < 2 : q + k == 0; });
  const Plan plan = testing::plan_of(Request::attention(1, 2, 4, mask), "single");
  KernelCostProfile profile = kProfile;
  profile.attend_head_dim_multiple = 32;
  profile.attend_ramp_keys = 5;
  EXPECT_EQ(op_durations(plan, profile).front(), 100 + 64 + 16 * (256 + 160));
}

// 16 tokens of 2 heads against 6 words: 32 rows, 192 pairs, and 800 FLOPs a head to project the words.
TEST(Cost, OfAttentionToTextIsThatOfAttention) {
  Request request = Request::attention(1, 2, 4, testing::dense_mask(2, 2, 8));
  request.kernels = {{"cross_attention", false, Axis::kHeads, Axis::kHeads, {}, 4 * 6 * 4, 800}};
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, b.place([&](int) { return BoxList{request.whole()}; }));
  b.local("cross_attention", {&q, 1});
  EXPECT_EQ(op_durations(b.take(), kProfile).front(), 100 + 2 * 32 + 192 * 4 / 2 + 2 * 800 / 8);
}

// A row of the second step is 4 channels of bf16; one of the accumulator 4 channels, a maximum and a sum of fp32, in
// and out.
TEST(Cost, ARingStepAfterTheFirstMerges) {
  const Request request = Request::attention(2, 2, 4, testing::dense_mask(2, 2, 8));
  const Plan plan = testing::plan_of(request, "ring");
  KernelCostProfile merging = kProfile;
  merging.ring_merge_passes = 2;
  const std::vector<std::int64_t> fused = op_durations(plan, kProfile), apart = op_durations(plan, merging);
  int steps = 0;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    const bool merges = plan.kind_of(op) == PostKind::kAttend && plan.post_of(op).ring_step > 0;
    const std::int64_t row_bytes = 4 * 2 + 2 * (4 + 2) * 4;
    EXPECT_EQ(apart[id] - fused[id], merges ? 2 * attend_num_rows(plan, op) * row_bytes / 4 : 0);
    steps += merges;
  }
  EXPECT_EQ(steps, 2);
}

TEST(Cost, RoundsUpToWholeNanoseconds) {
  const Request request = Request::attention(1, 1, 1, testing::dense_mask(1, 1, 1));
  const Plan plan = testing::plan_of(request, "single");
  EXPECT_EQ(op_durations(plan, {.attend_ns_per_launch = 1.25}).front(), 2);
}

}  // namespace
}  // namespace spscope
