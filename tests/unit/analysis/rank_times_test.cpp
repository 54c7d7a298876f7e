// Times of ranks against their definition written out, what a rank does at every moment between two events; and the
// terms that they divide into.
#include "backend/analysis/rank_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "backend/analysis/intervals.h"
#include "backend/analysis/pass_picture.h"
#include "backend/analysis/time_terms.h"
#include "backend/base/ids.h"
#include "backend/base/rng.h"
#include "backend/schedule/schedule.h"
#include "tests/unit/analysis/two_ranks.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope {
namespace {

// What a rank does between each two neighbouring times of its timeline, by the definition in rank_times.h.
std::vector<ActivitySpan> activities_of(const Plan& plan, const Timeline& timeline, int rank, std::int64_t zero_ns) {
  std::vector<std::size_t> own;
  std::set<std::int64_t> times = {zero_ns, zero_ns + timeline.makespan_ns()};
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].rank != rank) continue;
    own.push_back(i);
    for (const std::int64_t ns : {timeline.ops[i].post_ns, timeline.ops[i].begin_ns, timeline.ops[i].end_ns})
      times.insert(ns);
  }
  std::vector<ActivitySpan> spans;
  for (auto from = times.begin(), to = std::next(from); to != times.end(); ++from, ++to) {
    const auto does = [&](bool moves, std::int64_t OpTimes::*begin, std::int64_t OpTimes::*end) {
      return std::ranges::any_of(own, [&](std::size_t i) {
        const OpTimes& t = timeline.ops[i];
        return communicates(plan.kind_of(plan.ops[i])) == moves && t.*begin <= *from && *to <= t.*end;
      });
    };
    const TimeColumn column = does(false, &OpTimes::begin_ns, &OpTimes::end_ns)   ? TimeColumn::kCompute
                              : does(true, &OpTimes::begin_ns, &OpTimes::end_ns)  ? TimeColumn::kWire
                              : does(true, &OpTimes::post_ns, &OpTimes::begin_ns) ? TimeColumn::kLatePeer
                                                                                  : TimeColumn::kOther;
    if (!spans.empty() && spans.back().column == column)
      spans.back().end_ns = *to - zero_ns;
    else
      spans.push_back({*from - zero_ns, *to - zero_ns, column});
  }
  return spans;
}

void expect_definition(const Plan& plan, Rng& rng) {
  using Columns = std::array<std::int64_t, kNumTimeColumns>;
  TimeModels models;
  models.network = testing::random_network(plan.ranks, rng);
  const Timeline timeline = schedule(plan, testing::random_durations(plan, rng), *models.network);
  std::int64_t zero_ns = INT64_MAX;
  for (const OpTimes& t : timeline.ops) zero_ns = std::min(zero_ns, t.post_ns);
  const RankTimes times = rank_times(plan, timeline);
  const auto spans = activities(plan, timeline);
  Columns sums = {};
  for (std::size_t r = 0; r < spans.size(); ++r) {
    ASSERT_EQ(spans[r], activities_of(plan, timeline, static_cast<int>(r), zero_ns));
    Columns wanted = {};
    for (const ActivitySpan& span : spans[r]) wanted[at(static_cast<int>(span.column))] += span.end_ns - span.begin_ns;
    ASSERT_EQ((Columns{times.compute_ns[r], times.wait_late_peer_ns[r], times.wire_ns[r], times.other_ns[r]}), wanted);
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += wanted[c];
  }
  const TimeTerms terms = time_detail(plan, timeline, models).rank_sums;
  for (std::size_t c = 0; c < sums.size(); ++c) ASSERT_EQ(terms.of(static_cast<TimeColumn>(c)), sums[c]);
}

TEST(RankTimes, OfEveryPlanEqualTheirDefinition) {
  Rng rng(3);
  for (const testing::PlanCase& plan_case : testing::plan_cases())
    for (int trial = 0; trial < 5; ++trial) {
      SCOPED_TRACE(plan_case.name);
      ASSERT_NO_FATAL_FAILURE(expect_definition(
          testing::build(plan_case.plan, testing::layer_request(plan_case.shape, plan_case.kind)), rng));
    }
}

using testing::two_rank_request, testing::two_rank_ring, testing::two_rank_times;

TEST(Intervals, CoverCountsWhatLiesInside) {
  const Cover cover(joined({{10, 20}, {15, 30}, {40, 50}, {60, 60}}));
  EXPECT_EQ(cover.list(), (std::vector<Interval>{{10, 30}, {40, 50}}));
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t begin = rng.below(70), end = rng.below(70);
    std::int64_t expected = 0;
    for (std::int64_t t = begin; t < end; ++t) expected += (t >= 10 && t < 30) || (t >= 40 && t < 50);
    EXPECT_EQ(cover.inside(begin, end), expected) << begin << " " << end;
  }
}

// By the table of two_ranks.h, times as if measured: attention 36 and 80, finishing 10 and 10; rank 0 waits 4 ns for
// rank 1 and moves data for 40; rank 1 moves data for 20, begins 10 late; rank 0 ends 30 before rank 1.
TEST(TimeTerms, DivideTheMakespanOfTwoRanks) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  const TimeDetail detail = time_detail(plan, two_rank_times(plan), {});
  TimeTerms expected;
  expected[TimeTerm::kTiles] = 36 + 80;
  expected[TimeTerm::kMerge] = 20;
  expected[TimeTerm::kLatePeer] = 4;
  expected[TimeTerm::kWireInside] = 60;
  expected[TimeTerm::kEndWait] = 30;
  expected[TimeTerm::kIdle] = 10;
  EXPECT_EQ(detail.rank_sums, expected);
  EXPECT_EQ(detail.waits, (std::vector<RankWait>{{0, 1, "end", 0, 30}, {0, 1, "exchange kv", 1, 4}}));
  EXPECT_EQ(detail.waited_for_ns, (std::vector<std::int64_t>{0, 34}));
}

// 8 ns of latency from 10 on: rank 0 computes nothing then, rank 1 hides them behind its attend from 10 to 30.
TEST(TimeTerms, LatencyIsTheStartOfATransferThatNothingHides) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  TimeModels models;
  models.network = Network::instant(2);
  models.network->intra_latency_ns = 8;
  models.nodes = {0, 1};
  models.network->inter_latency_ns = 8;
  const TimeTerms terms = time_detail(plan, two_rank_times(plan), models).rank_sums;
  EXPECT_EQ(terms[TimeTerm::kLatency], 8);
  EXPECT_EQ(terms[TimeTerm::kWireBetween], 52);
  EXPECT_EQ(terms[TimeTerm::kWireInside], 0);
}

// Each launch 3 ns and each of the two rows of a rank 1 ns, 2 ns for an active pair of 2 channels: 5 + 2 x pairs = 13
// and 7 for rank 0 (4 and 1 pairs), 7 and 9 for rank 1. Its attends took 6, 30, 20 and 60.
TEST(TimeTerms, AttentionIsLaunchesRowsTilesAndSlowdown) {
  const Request request = two_rank_request();
  const Plan plan = two_rank_ring(request);
  TimeModels models;
  models.cost = KernelCostProfile{};
  models.cost->attend_ns_per_launch = 3;
  models.cost->attend_ns_per_row = 1;
  models.cost->attend_ns_per_pair_channel = 1;
  const TimeTerms terms = time_detail(plan, two_rank_times(plan), models).rank_sums;
  EXPECT_EQ(terms[TimeTerm::kLaunch], 12);
  EXPECT_EQ(terms[TimeTerm::kRows], 8);
  EXPECT_EQ(terms[TimeTerm::kTiles], (6 - 5) + 2 + 2 + 4);
  EXPECT_EQ(terms[TimeTerm::kSlowdown], (30 - 7) + (20 - 7) + (60 - 9) + 20) << "finishing costs nothing here";
  EXPECT_EQ(terms.of(TimeColumn::kCompute), 46 + 90);
}

TEST(TimeTerms, EachHasOneColumnAndOneCause) {
  TimeTerms terms;
  for (std::size_t i = 0; i < terms.ns.size(); ++i) terms.ns[i] = std::int64_t{1} << i;
  std::int64_t columns = 0, causes = 0;
  for (int i = 0; i < kNumTimeColumns; ++i) columns += terms.of(static_cast<TimeColumn>(i));
  for (int i = 0; i < kNumCauses; ++i)
    if (static_cast<Cause>(i) != Cause::kTransfers) causes += terms.of(static_cast<Cause>(i));
  EXPECT_EQ(columns, terms.total());
  EXPECT_EQ(causes, terms.total());
  EXPECT_EQ(terms.of(Cause::kTransfers), terms.of(TimeColumn::kWire) - terms[TimeTerm::kPacking]);
}

TEST(TimeTerms, WaitsOfOneKindAreJoinedLongestFirst) {
  const std::vector<RankWait> joined =
      joined_waits({{0, 1, "exchange kv", 1, 4}, {2, 1, "end", 0, 5}, {0, 1, "exchange kv", 1, 3}});
  EXPECT_EQ(joined, (std::vector<RankWait>{{0, 1, "exchange kv", 1, 7}, {2, 1, "end", 0, 5}}));
}

}  // namespace
}  // namespace spscope
