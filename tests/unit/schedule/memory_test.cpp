// Peaks worked out by hand.
#include "backend/schedule/memory.h"

#include <gtest/gtest.h>

#include "backend/schedule/schedule.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

using testing::dense_mask, testing::plan_of, testing::usp_plan, testing::whole_at;

std::vector<std::int64_t> scheduled_peak(const Plan& plan, std::int64_t attend_ns, const Network& network) {
  return memory(plan, schedule(plan, testing::attend_durations(plan, [&](const Op&, const Post&) { return attend_ns; }),
                               network));
}

// 2 heads x 16 tokens x 4 in bf16: q and o 256 bytes, k and v 512, the accumulator 2 x 16 x (4 + 2) x 4 = 768.
// The attend holds q, k, v and the accumulator, the finish q, the accumulator and o, also where they take no time.
TEST(Memory, OfOneRankIsTheAttend) {
  const Request request = Request::attention(1, 2, 4, dense_mask(2, 2, 8));
  const Plan plan = plan_of(request, "single");
  for (const std::int64_t attend_ns : {10, 0})
    EXPECT_EQ(scheduled_peak(plan, attend_ns, Network::instant(1)), (std::vector<std::int64_t>{256 + 512 + 768}));
  EXPECT_EQ(memory_bound(plan), (std::vector<std::int64_t>{256 + 512 + 768}));
}

// In fp32 everything but the accumulator doubles; a batch of 3 triples all.
TEST(Memory, GrowsWithElementBytesAndBatch) {
  Request request = Request::attention(1, 2, 4, dense_mask(2, 2, 8), Dtype::kFp32);
  EXPECT_EQ(memory_bound(plan_of(request, "single")), (std::vector<std::int64_t>{512 + 1024 + 768}));
  request.batch = 3;
  EXPECT_EQ(memory_bound(plan_of(request, "single")), (std::vector<std::int64_t>{3 * (512 + 1024 + 768)}));
}

// A rank cannot know when its hop has been received by the next rank before its own part of the hop has ended, so three
// chunks may be held for a moment; never more, since a hop waits for the attend before it (program order).
TEST(Memory, BoundOfARingDoesNotGrowWithItsLength) {
  const auto bound = [](int ranks) {
    const Request request = Request::attention(ranks, 4, 4, dense_mask(4, ranks, 8));
    return memory_bound(plan_of(request, "ring")).front();
  };
  EXPECT_EQ(bound(4), bound(8));
  EXPECT_EQ(bound(8), bound(16));
  EXPECT_LE(bound(16), 256 + 3 * 512 + 768);
}

TEST(Memory, ViewsCostNothing) {
  const Request request = Request::attention(1, 2, 4, dense_mask(2, 2, 8));
  PlanBuilder b(request);
  const Placement all = b.place([&](int) { return BoxList{request.whole()}; });
  const auto [q, kv] = b.input_qkv(all);
  const ValueId head = b.narrow(kv, all);
  b.output(b.attend_all(q, head), all);
  EXPECT_EQ(memory_bound(b.take()), (std::vector<std::int64_t>{256 + 512 + 768}));
}

// A rank that holds an input but does nothing still holds it.
TEST(Memory, CountsInputsOfIdleRanks) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  PlanBuilder b(request);
  b.input(kQueries, whole_at(b, 1));
  const Plan plan = b.take();
  EXPECT_EQ(memory_bound(plan), (std::vector<std::int64_t>{0, 256}));
  EXPECT_EQ(memory(plan, Timeline{}), (std::vector<std::int64_t>{0, 256}));
}

TEST(Memory, OutputsStayToTheEnd) {
  const Request request = Request::attention(1, 2, 4, dense_mask(2, 2, 8));
  PlanBuilder b(request);
  const Placement all = b.place([&](int) { return BoxList{request.whole()}; });
  const ValueId q = b.input(kQueries, all);
  b.output(b.local("first", std::vector<ValueId>{q}), all);
  b.local("second", std::vector<ValueId>{q});
  const Plan plan = b.take();
  EXPECT_EQ(memory_bound(plan).front(), 3 * 256);
  EXPECT_EQ(scheduled_peak(plan, 0, Network::instant(1)).front(), 3 * 256);
}

// Rank 1 pulls from rank 0, which does not know when: what is pulled stays, unless a barrier tells.
Plan pull_plan(const Request& request, bool barrier) {
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, whole_at(b, 0)), kv = b.input(kKeysValues, whole_at(b, 0));
  const Move pulled = b.pull(q, whole_at(b, 1));
  if (barrier) b.barrier();
  b.local("later", std::vector<ValueId>{kv});
  b.output(b.wait(pulled), whole_at(b, 1));
  return b.take();
}

TEST(MemoryBound, KeepsWhatAnotherRankPullsUntilABarrier) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  EXPECT_EQ(memory_bound(pull_plan(request, false))[0], 256 + 2 * 512);
  EXPECT_EQ(memory_bound(pull_plan(request, true))[0], 2 * 512);
}

// Rank 0 pushes into rank 1, which knows nothing of it: the buffer counts from the start. After a barrier of both it
// counts from there only.
Plan push_plan(const Request& request, bool barrier) {
  PlanBuilder b(request);
  const ValueId q = b.input(kQueries, whole_at(b, 0)), before = b.input(kKeysValues, whole_at(b, 1));
  b.local("uses", std::vector<ValueId>{before});
  if (barrier) b.barrier();
  b.output(b.wait(b.push(q, whole_at(b, 1))), whole_at(b, 1));
  return b.take();
}

TEST(MemoryBound, CountsAPushFromTheLastBarrierBeforeIt) {
  const Request request = Request::attention(2, 2, 4, dense_mask(2, 2, 8));
  EXPECT_EQ(memory_bound(push_plan(request, false))[1], 512 + 512 + 256);
  EXPECT_EQ(memory_bound(push_plan(request, true))[1], 512 + 512);
}

}  // namespace
}  // namespace spscope
