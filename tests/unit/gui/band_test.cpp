// Rows of the timeline against what backend/analysis says of the same times, and against brute force.
#include "gui/views/timeline/band.h"

#include <gtest/gtest.h>

#include <map>

#include "backend/base/rng.h"
#include "backend/schedule/layer_passes.h"
#include "backend/schedule/schedule.h"
#include "backend/store/timeline_events.h"
#include "gui/views/timeline/band_statistics.h"
#include "gui/views/timeline/pass_matrix.h"
#include "tests/support/plan_library.h"
#include "tests/unit/schedule/schedule_cases.h"

namespace spscope::gui {
namespace {

std::shared_ptr<const PassData> pass_of(const testing::PlanCase& plan_case, Rng& rng) {
  auto pass = std::make_shared<PassData>();
  const Plan plan = testing::build(plan_case.plan, testing::layer_request(plan_case.shape, plan_case.kind));
  pass->timeline = schedule(plan, testing::random_durations(plan, rng), testing::random_network(plan.ranks, rng));
  pass->repeat.makespan_ns = pass->timeline->makespan_ns();
  pass->times = rank_times(plan, *pass->timeline, pass->repeat.makespan_ns);
  pass->plan = std::make_shared<const Plan>(plan);
  return pass;
}

// Plans of the library in turn, each with other random times: at least 200.
template <typename Visit>
void for_each_pass(Visit&& visit) {
  const auto& cases = testing::plan_cases();
  Rng rng(200);
  const std::size_t times = 200 / cases.size() + 1;
  for (const testing::PlanCase& one : cases)
    for (std::size_t i = 0; i < times; ++i) {
      SCOPED_TRACE(one.name);
      visit(pass_of(one, rng));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

TEST(Band, SumsOfRowsAreTheTimesOfRanks) {
  for_each_pass([](const std::shared_ptr<const PassData>& pass) {
    const Band band = make_band(pass);
    ASSERT_EQ(band.ranks.size(), static_cast<std::size_t>(pass->plan->ranks));
    for (std::size_t rank = 0; rank < band.ranks.size(); ++rank) {
      std::int64_t sums[4] = {}, reached = INT64_MIN;
      for (const TimeSpan& span : band.ranks[rank].spans) {
        ASSERT_LT(span.begin_ns, span.end_ns);
        ASSERT_GE(span.begin_ns, reached);
        reached = span.end_ns;
        sums[static_cast<int>(span.part)] += span.end_ns - span.begin_ns;
        ASSERT_EQ(pass->plan->ops[static_cast<std::size_t>(span.op)].rank, static_cast<int>(rank));
      }
      ASSERT_EQ(sums[0], pass->times.compute_ns[rank]);
      ASSERT_EQ(sums[1], pass->times.wait_late_peer_ns[rank]);
      ASSERT_EQ(sums[2], pass->times.wire_ns[rank]);
      ASSERT_EQ(sums[3], 0);
    }
  });
}

// Layer passes one after the other, which overlap: each is drawn whole, from where its makespan begins.
TEST(Band, PassesOfAScheduleAreDrawnFromTheirMakespans) {
  Rng rng(201);
  int overlapping = 0;
  for (const testing::PlanCase& one : testing::plan_cases()) {
    SCOPED_TRACE(one.name);
    const auto plan =
        std::make_shared<const Plan>(testing::build(one.plan, testing::layer_request(one.shape, one.kind)));
    std::vector<std::vector<std::int64_t>> durations;
    for (int i = 0; i < 3; ++i) durations.push_back(testing::random_durations(*plan, rng));
    std::vector<spscope::LayerPass> passes;
    for (const auto& ns : durations) passes.push_back({.plan = plan.get(), .compute_ns = ns});
    const Network network = testing::random_network(plan->ranks, rng);
    std::int64_t ended_ns = 0;  // of the pass before, on the clock of all
    for (const ScheduledPass& made : schedule_passes(passes, network).passes) {
      auto pass = std::make_shared<PassData>();
      pass->run.provenance.network = Source::kModelled;
      pass->repeat.makespan_ns = made.makespan_ns;
      pass->repeat.lead_ns = made.lead_ns;
      pass->plan = plan;
      take_timeline(*pass, made.timeline);
      const Band band = make_band(pass);
      std::int64_t first = 0, last = 0;
      for (const BandRow& row : band.ranks)
        for (const TimeSpan& span : row.spans) {
          first = std::min(first, span.begin_ns);
          last = std::max(last, span.end_ns);
        }
      ASSERT_LE(band.begin_ns, first);
      ASSERT_EQ(last, made.makespan_ns);
      ASSERT_EQ(band.end_ns, made.makespan_ns);
      ASSERT_GE(band.begin_ns, -ended_ns);
      ASSERT_EQ(band.path_ns(PathShare::kCompute) + band.path_ns(PathShare::kWire) + band.path_ns(PathShare::kIdle),
                made.makespan_ns);
      overlapping += band.begin_ns < 0 ? 1 : 0;
      ended_ns += made.makespan_ns;
    }
  }
  EXPECT_GT(overlapping, 10);
}

// Of each moment of a lane, by looking at all of its ops.
TEST(Band, LanesHoldWhatTheirOpsDo) {
  Rng rng(7);
  for_each_pass([&](const std::shared_ptr<const PassData>& pass) {
    const Band band = make_band(pass);
    const Plan& plan = *pass->plan;
    for (const auto& lanes : band.lanes)
      for (const BandRow& row : lanes)
        for (int i = 0; i < 20; ++i) {
          const std::int64_t t = rng.below(pass->repeat.makespan_ns + 1);
          bool busy = false, compute = false;
          for (std::size_t id = 0; id < plan.ops.size(); ++id) {
            const Op& op = plan.ops[id];
            const OpTimes& times = pass->timeline->ops[id];
            if (op.rank != row.rank || plan.post_of(op).lane != row.lane) continue;
            const bool here =
                t >= (communicates(plan.kind_of(op)) ? times.post_ns : times.begin_ns) && t < times.end_ns;
            busy |= here;
            compute |= here && !communicates(plan.kind_of(op));
          }
          const auto span =
              std::ranges::find_if(row.spans, [&](const TimeSpan& s) { return t >= s.begin_ns && t < s.end_ns; });
          ASSERT_EQ(span != row.spans.end(), busy);
          if (busy) {
            ASSERT_EQ(span->part == TimePart::kCompute, compute);
          }
        }
  });
}

TEST(Band, TheLatePartnerPostedLast) {
  for_each_pass([](const std::shared_ptr<const PassData>& pass) {
    const Band band = make_band(pass);
    for (OpId op = 0; op < static_cast<OpId>(pass->plan->ops.size()); ++op) {
      const OpId late = band.late_partner(op);
      std::int64_t last = band.times(op).post_ns;
      band.partners->for_each(op, [&](OpId partner) { last = std::max(last, band.times(partner).post_ns); });
      ASSERT_EQ(late != kNone, last > band.times(op).post_ns);
      if (late != kNone) {
        ASSERT_EQ(band.times(late).post_ns, last);
      }
    }
  });
}

// Count, sum and longest of each name, of all events and of those in a range, by looking at each event.
TEST(Band, StatisticsAreThoseOfTheEvents) {
  Rng rng(9);
  int partly = 0;
  for_each_pass([&](const std::shared_ptr<const PassData>& pass) {
    const Band band = make_band(pass);
    const std::int64_t from = rng.below(band.makespan_ns + 1), length = 1 + rng.below(band.makespan_ns + 1);
    for (const std::optional<TimeRange>& range :
         {std::optional<TimeRange>(), std::optional(TimeRange{from, from + length})}) {
      const std::vector<DurationStatistics> found = statistics_by_name(band, range, {});
      ASSERT_EQ(found.size(), band.names.size());
      for (std::size_t n = 0; n < band.names.size(); ++n) {
        std::int64_t count = 0, total = 0, longest = 0, of_all = 0;
        std::map<int, std::int64_t> by_rank;
        for (std::size_t op = 0; op < pass->plan->ops.size(); ++op) {
          if (op_name(*pass->plan, pass->plan->ops[op]) != band.names[n]) continue;
          ++of_all;
          const OpTimes& t = pass->timeline->ops[op];
          if (range && !(t.begin_ns < range->end_ns && t.end_ns > range->begin_ns)) continue;
          ++count;
          total += t.end_ns - t.begin_ns;
          longest = std::max(longest, t.end_ns - t.begin_ns);
          by_rank[pass->plan->ops[op].rank] += t.end_ns - t.begin_ns;
        }
        ASSERT_EQ(found[n].count, count);
        ASSERT_EQ(found[n].total_ns, total);
        ASSERT_EQ(found[n].max_ns, longest);
        partly += count > 0 && count < of_all ? 1 : 0;
        const auto ranks =
            statistics_by_group(band, static_cast<int>(n), range, [](const Op& op) { return op.rank; }, {});
        ASSERT_EQ(ranks.size(), by_rank.size());
        for (const auto& [rank, ns] : by_rank) ASSERT_EQ(ranks.at(rank).total_ns, ns);
      }
    }
  });
  EXPECT_GT(partly, 100);
  const Cancelled cancelled;
  cancelled.cancel();
  EXPECT_THROW(statistics_by_name(make_band(pass_of(testing::plan_cases().front(), rng)), {}, cancelled), Error);
}

// Each pass is in one column, columns are in order and none is empty.
TEST(PassColumns, ShareThePasses) {
  Rng rng(10);
  for (int i = 0; i < 500; ++i) {
    const auto passes = static_cast<std::size_t>(1 + rng.below(12'000));
    const PassColumns columns{passes, static_cast<std::size_t>(1 + rng.below(static_cast<std::int64_t>(passes)))};
    ASSERT_EQ(columns.first(0), 0U);
    ASSERT_EQ(columns.first(columns.columns), passes);
    for (std::size_t c = 0; c < columns.columns; ++c) {
      ASSERT_LT(columns.first(c), columns.first(c + 1));
      ASSERT_EQ(columns.column(columns.first(c)), c);
      ASSERT_EQ(columns.column(columns.first(c + 1) - 1), c);
    }
  }
}

TEST(FoldRow, EqualsCountingEachNanosecond) {
  Rng rng(8);
  for (int i = 0; i < 1000; ++i) {
    std::vector<TimeSpan> spans;
    std::int64_t t = rng.below(20);
    for (std::int64_t n = rng.below(30); n > 0; --n) {
      const std::int64_t length = 1 + rng.below(15);
      spans.push_back({t, t + length, static_cast<OpId>(n), static_cast<TimePart>(rng.below(4))});
      t += length + (rng.below(2) == 0 ? rng.below(10) : 0);
    }
    // Columns of whole nanoseconds, so that the count is exact.
    const int columns = static_cast<int>(1 + rng.below(40));
    const std::int64_t width = 1 + rng.below(12), begin = rng.below(60);
    // What was there before does not show.
    std::vector<PixelCell> cells(static_cast<std::size_t>(columns), {TimePart::kLatePeer, 0.5F});
    fold_row(spans, static_cast<double>(begin), static_cast<double>(begin + width * columns), cells);
    for (int c = 0; c < columns; ++c) {
      std::int64_t sums[4] = {};
      for (std::int64_t at = begin + c * width; at < begin + (c + 1) * width; ++at)
        for (const TimeSpan& s : spans) sums[static_cast<int>(s.part)] += at >= s.begin_ns && at < s.end_ns;
      const std::int64_t busy = sums[0] + sums[1] + sums[2] + sums[3];
      const PixelCell& cell = cells[static_cast<std::size_t>(c)];
      ASSERT_NEAR(cell.busy, static_cast<double>(busy) / static_cast<double>(width), 1e-5);
      if (busy > 0) {
        ASSERT_EQ(sums[static_cast<int>(cell.part)], *std::max_element(sums, sums + 4));
      }
    }
  }
}

}  // namespace
}  // namespace spscope::gui
