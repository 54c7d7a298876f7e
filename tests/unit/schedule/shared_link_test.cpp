#include "backend/schedule/shared_link.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backend/base/rng.h"

namespace spscope {
namespace {

struct Arrival {
  std::int64_t ns, bytes;
};

// Ends of jobs, by asking the link only at arrivals and at the ends that it announces.
std::map<int, std::int64_t> ends_of(double capacity, const std::vector<Arrival>& arrivals) {
  SharedLink link;
  std::map<int, std::int64_t> ends;
  std::vector<std::int32_t> ended;
  std::size_t next = 0;
  while (next < arrivals.size() || link.busy()) {
    std::int64_t now = link.busy() ? link.next_end_ns() : arrivals[next].ns;
    if (next < arrivals.size()) now = std::min(now, arrivals[next].ns);
    while (next < arrivals.size() && arrivals[next].ns == now) {
      link.add(now, static_cast<double>(arrivals[next].bytes) / capacity, static_cast<std::int32_t>(next));
      ++next;
    }
    ended.clear();
    link.take_ended(now, ended);
    for (std::int32_t job : ended) ends[job] = now;
  }
  return ends;
}

// Equal shares by the definition, one change after the other.
std::vector<long double> shares_by_definition(const std::vector<Arrival>& arrivals, long double capacity) {
  std::vector<long double> left, ends(arrivals.size(), -1);
  long double now = 0;
  for (const Arrival& a : arrivals) left.push_back(static_cast<long double>(a.bytes));
  for (std::size_t done = 0; done < arrivals.size();) {
    std::vector<std::size_t> active;
    long double change = INFINITY;
    for (std::size_t j = 0; j < arrivals.size(); ++j) {
      if (ends[j] >= 0) continue;
      if (static_cast<long double>(arrivals[j].ns) > now)
        change = std::min(change, static_cast<long double>(arrivals[j].ns));
      else
        active.push_back(j);
    }
    const auto n = static_cast<long double>(active.size());
    for (std::size_t j : active) change = std::min(change, now + left[j] * n / capacity);
    for (std::size_t j : active) {
      left[j] -= (change - now) * capacity / n;
      if (left[j] < 1e-9L) ends[j] = change, ++done;
    }
    now = change;
  }
  return ends;
}

// The first two end at 2 x 15 / 10 = 3 each; a third of 5 bytes more ends at 3.5: its end is rounded, not its start.
TEST(SharedLink, RoundingDoesNotAddUp) {
  std::vector<Arrival> arrivals;
  for (std::int64_t bytes = 1; bytes <= 40; ++bytes) arrivals.push_back({0, bytes * 3});
  const auto ends = ends_of(7, arrivals);
  EXPECT_EQ(ends.at(39), static_cast<std::int64_t>(std::ceil(3 * 40 * 41 / 2 / 7.0)));
}

TEST(SharedLink, EqualJobsEndTogether) {
  const auto ends = ends_of(3, {{0, 10}, {0, 10}, {0, 10}});
  for (int job = 0; job < 3; ++job) EXPECT_EQ(ends.at(job), 10);
}

TEST(SharedLink, StartsAnewAfterIdling) {
  const auto ends = ends_of(4, {{0, 10}, {1'000'000'000'000, 10}});
  EXPECT_EQ(ends.at(0), 3);
  EXPECT_EQ(ends.at(1), 1'000'000'000'003);
}

TEST(SharedLink, AgreesWithTheDefinitionOnRandomJobs) {
  Rng rng(11);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Arrival> arrivals;
    std::int64_t ns = 0;
    for (std::int64_t j = 0, n = 1 + rng.below(20); j < n; ++j)
      arrivals.push_back({ns += rng.below(30), 1 + rng.below(500)});
    const double capacity = 0.5 + 10 * rng.uniform();
    const auto ends = ends_of(capacity, arrivals);
    const auto expected = shares_by_definition(arrivals, capacity);
    for (std::size_t j = 0; j < arrivals.size(); ++j)
      ASSERT_EQ(ends.at(static_cast<int>(j)), std::ceil(expected[j] - 1e-6L)) << "trial " << trial << " job " << j;
  }
}

}  // namespace
}  // namespace spscope
