// Statistics of durations against their definitions, taken word for word, on random lists.
#include "backend/analysis/duration_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/base/rng.h"

namespace spscope {
namespace {

std::vector<std::int64_t> random_list(Rng& rng) {
  std::vector<std::int64_t> list;
  const std::int64_t spread = 1 + rng.below(13);
  for (std::int64_t n = 1 + rng.below(120); n > 0; --n) {
    std::int64_t most = 2;
    for (std::int64_t digits = rng.below(spread); digits > 0; --digits) most *= 10;
    list.push_back(rng.below(most));
  }
  return list;
}

// The nearest rank: the smallest duration that at least p percent of the list do not exceed.
std::int64_t percentile(const std::vector<std::int64_t>& list, int p) {
  std::int64_t best = INT64_MAX;
  for (const std::int64_t d : list) {
    const auto below = std::ranges::count_if(list, [d](std::int64_t other) { return other <= d; });
    if (below * 100 >= p * std::ssize(list)) best = std::min(best, d);
  }
  return best;
}

TEST(DurationStatistics, AreWhatTheirDefinitionsSay) {
  Rng rng(1000);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<std::int64_t> list = random_list(rng);
    const DurationStatistics s = duration_statistics(list);
    ASSERT_EQ(s.count, std::ssize(list));
    std::int64_t total = 0;
    for (const std::int64_t d : list) total += d;
    ASSERT_EQ(s.total_ns, total);
    ASSERT_EQ(s.min_ns, *std::ranges::min_element(list));
    ASSERT_EQ(s.max_ns, *std::ranges::max_element(list));
    ASSERT_EQ(s.median_ns, percentile(list, 50));
    ASSERT_EQ(s.p90_ns, percentile(list, 90));
    ASSERT_EQ(s.p99_ns, percentile(list, 99));
    const long double mean = static_cast<long double>(total) / static_cast<long double>(list.size());
    long double squares = 0;
    for (const std::int64_t d : list) squares += (static_cast<long double>(d) - mean) * (static_cast<long double>(d) - mean);
    const auto deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(list.size())));
    ASSERT_NEAR(s.mean_ns, static_cast<double>(mean), 1e-9 * (1 + static_cast<double>(mean)));
    ASSERT_NEAR(s.deviation_ns, deviation, 1e-6 * (1 + deviation));
  }
}

TEST(DurationStatistics, BinsHoldEachDurationOnceFromLeastToMost) {
  Rng rng(1001);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<std::int64_t> list = random_list(rng);
    const DurationStatistics s = duration_statistics(list);
    ASSERT_EQ(s.edges_ns.size(), s.counts.size() + 1);
    for (std::size_t bin = 0; bin < s.counts.size(); ++bin) {
      ASSERT_LT(s.edges_ns[bin], s.edges_ns[bin + 1]);
      ASSERT_EQ(s.counts[bin], std::ranges::count_if(list, [&](std::int64_t d) { return d >= s.edges_ns[bin] && d < s.edges_ns[bin + 1]; }));
      ASSERT_EQ(next_histogram_edge_ns(s.edges_ns[bin]), s.edges_ns[bin + 1]);
      if (s.edges_ns[bin] >= 8) {
        ASSERT_NEAR(std::log2(static_cast<double>(s.edges_ns[bin + 1]) / static_cast<double>(s.edges_ns[bin])), 0.125, 0.07);
      }
    }
    ASSERT_GT(s.counts.front(), 0);
    ASSERT_GT(s.counts.back(), 0);
    for (const std::int64_t d : list) ASSERT_LE(histogram_edge_ns(d), d);
  }
}

TEST(DurationStatistics, AnEmptyListHasNothing) {
  const DurationStatistics s = duration_statistics({});
  EXPECT_EQ(s.count, 0);
  EXPECT_TRUE(s.counts.empty());
}

}  // namespace
}  // namespace spscope
