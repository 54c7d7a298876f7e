#include "backend/analysis/pass_picture.h"

#include <gtest/gtest.h>

#include <random>

#include "backend/analysis/rank_times.h"
#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

using testing::two_rank_request, testing::two_rank_ring, testing::two_rank_times;

// By the table of two_ranks.h.
TEST(PassPicture, DividesTheTimeOfARankIntoSpans) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const auto spans = activities(plan, two_rank_times(plan));
  using enum TimeColumn;
  EXPECT_EQ(spans[0],
            (std::vector<ActivitySpan>{
                {0, 6, kCompute}, {6, 10, kLatePeer}, {10, 50, kWire}, {50, 90, kCompute}, {90, 120, kOther}}));
  EXPECT_EQ(spans[1],
            (std::vector<ActivitySpan>{{0, 10, kOther}, {10, 30, kCompute}, {30, 50, kWire}, {50, 120, kCompute}}));
}

// What a rank does in each single nanosecond, by the definition.
std::vector<TimeColumn> by_nanosecond(const Plan& plan, const Timeline& timeline, int rank, std::int64_t zero_ns) {
  std::vector<TimeColumn> does;
  for (std::int64_t ns = zero_ns; ns < zero_ns + timeline.makespan_ns(); ++ns) {
    bool compute = false, wire = false, late = false;
    for (std::size_t i = 0; i < plan.ops.size(); ++i) {
      const OpTimes& t = timeline.ops[i];
      if (plan.ops[i].rank != rank) continue;
      const bool moves = communicates(plan.kind_of(plan.ops[i])), runs = t.begin_ns <= ns && ns < t.end_ns;
      compute = compute || (!moves && runs);
      wire = wire || (moves && runs);
      late = late || (moves && t.post_ns <= ns && ns < t.begin_ns);
    }
    does.push_back(compute ? TimeColumn::kCompute
                   : wire  ? TimeColumn::kWire
                   : late  ? TimeColumn::kLatePeer
                           : TimeColumn::kOther);
  }
  return does;
}

TEST(PassPicture, SpansAreWhatEachNanosecondIs) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  std::mt19937_64 random(1);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int round = 0; round < 200; ++round) {
    Timeline timeline;
    for (const Op& op : plan.ops) {
      OpTimes t;
      t.post_ns = 1000 + up_to(80);
      t.begin_ns = t.post_ns + (communicates(plan.kind_of(op)) ? up_to(30) : 0);
      t.end_ns = t.begin_ns + up_to(40);
      timeline.ops.push_back(t);
    }
    std::int64_t zero_ns = timeline.ops.front().post_ns;
    for (const OpTimes& t : timeline.ops) zero_ns = std::min(zero_ns, t.post_ns);
    const auto spans = activities(plan, timeline);
    for (int rank = 0; rank < plan.ranks; ++rank) {
      std::vector<TimeColumn> told;
      for (const ActivitySpan& span : spans[static_cast<std::size_t>(rank)]) {
        ASSERT_EQ(span.begin_ns, std::ssize(told));
        ASSERT_LT(span.begin_ns, span.end_ns);
        ASSERT_TRUE(told.empty() || told.back() != span.column);
        told.insert(told.end(), static_cast<std::size_t>(span.end_ns - span.begin_ns), span.column);
      }
      ASSERT_EQ(told, by_nanosecond(plan, timeline, rank, zero_ns)) << "round " << round << ", rank " << rank;
    }
  }
}

TEST(PassPicture, ACoarserRowTellsWhatTakesMostOfEachBucket) {
  using enum TimeColumn;
  const std::vector<ActivitySpan> spans = {{0, 4, kCompute},   {4, 5, kWire},   {5, 10, kCompute}, {10, 13, kWire},
                                           {13, 14, kCompute}, {14, 20, kWire}, {20, 30, kOther}};
  EXPECT_EQ(coarser(spans, 3), (std::vector<ActivitySpan>{{0, 10, kCompute}, {10, 20, kWire}, {20, 30, kOther}}));
  EXPECT_EQ(coarser(spans, 7), spans);
}

}  // namespace
}  // namespace spscope
