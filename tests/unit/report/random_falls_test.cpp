// Waterfalls of the comparison, of 1,000 random results: from the fastest strategy the steps lead to the makespan of
// the other to the nanosecond, each in the column that its terms are in.
#include <gtest/gtest.h>

#include "backend/base/rng.h"
#include "backend/report/section.h"
#include "tests/unit/report/sample_comparison.h"

namespace spscope {
namespace {

// Terms whose sum is the makespan.
void set_random_times(StrategyResult& s, Rng& rng) {
  TimeTerms terms;
  for (std::int64_t& ns : terms.ns) ns = rng.below(3) * rng.below(std::int64_t{1} << (1 + rng.below(40)));
  terms.ns.front() += 1;
  s.terms = terms;
  s.makespan_ns = 0;
  for (const std::int64_t ns : terms.ns) *s.makespan_ns += ns;
}

TEST(RandomFalls, LeadFromTheFastestToEachOtherExactly) {
  int falls = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Rng rng(seed);
    Comparison c = sample_comparison();
    for (StrategyResult& s : c.strategies)
      if (s.legal()) set_random_times(s, rng);
    const Section section = make_section("comparison", {c});
    for (const Block& block : section.blocks) {
      const auto* fall = std::get_if<Waterfall>(&block);
      if (fall == nullptr) continue;
      const auto of = [&](const StackedBars::Bar& bar) {
        return *std::ranges::find(c.strategies, bar.of.strategy, &StrategyResult::id);
      };
      const StrategyResult from = of(fall->from), to = of(fall->to);
      ASSERT_EQ(static_cast<std::int64_t>(fall->from.parts_ns.at(0)), *from.makespan_ns);
      std::array<std::int64_t, kNumTimeColumns> columns = {};
      for (std::size_t i = 0; i < time_term_rows().size(); ++i)
        columns[static_cast<std::size_t>(time_term_rows()[i].column)] += to.terms->ns[i] - from.terms->ns[i];
      std::int64_t reached_ns = *from.makespan_ns;
      for (const Waterfall::Step& step : fall->steps) {
        ASSERT_EQ(static_cast<std::int64_t>(step.delta_ns), columns[step.part]) << "seed " << seed;
        reached_ns += static_cast<std::int64_t>(step.delta_ns);
      }
      ASSERT_EQ(reached_ns, *to.makespan_ns) << "seed " << seed;
      ++falls;
    }
  }
  EXPECT_GE(falls, 1'000) << "the comparisons have none";
}

}  // namespace
}  // namespace spscope
