// Times of ranks against their definition written out: what a rank does at every moment between two events.
#include "backend/analysis/rank_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "backend/analysis/pass_picture.h"
#include "backend/base/ids.h"
#include "backend/schedule/schedule.h"
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

}  // namespace
}  // namespace spscope
