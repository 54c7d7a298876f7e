// Statistics of the events of a name: against sorting all durations, and against the recipe for SQL that the manual
// gives.
#include "backend/store/name_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/store/store_reader.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

// By the definitions: sort, then count.
DurationStatistics brute_force(std::vector<std::int64_t> ns) {
  DurationStatistics wanted;
  if (ns.empty()) return wanted;
  std::sort(ns.begin(), ns.end());
  wanted.count = std::ssize(ns);
  wanted.min_ns = ns.front();
  wanted.max_ns = ns.back();
  // The smallest duration that at least `percent` of all are no longer than.
  const auto percentile = [&](int percent) {
    for (std::size_t i = 0;; ++i)
      if ((i + 1) * 100 >= static_cast<std::size_t>(percent) * ns.size()) return ns[i];
  };
  wanted.median_ns = percentile(50);
  wanted.p90_ns = percentile(90);
  wanted.p99_ns = percentile(99);
  long double sum = 0, squares = 0;
  for (const std::int64_t x : ns) {
    wanted.total_ns += x;
    sum += static_cast<long double>(x);
    squares += static_cast<long double>(x) * static_cast<long double>(x);
  }
  const long double mean = sum / static_cast<long double>(ns.size());
  wanted.mean_ns = static_cast<double>(mean);
  wanted.deviation_ns = static_cast<double>(
      std::sqrt(std::max<long double>(0, squares / static_cast<long double>(ns.size()) - mean * mean)));
  return wanted;
}

void expect_equal(const DurationStatistics& found, const std::vector<std::int64_t>& ns) {
  const DurationStatistics wanted = brute_force(ns);
  const auto exact = [](const DurationStatistics& s) {
    return std::tie(s.count, s.total_ns, s.min_ns, s.median_ns, s.p90_ns, s.p99_ns, s.max_ns);
  };
  EXPECT_EQ(exact(found), exact(wanted));
  EXPECT_NEAR(found.mean_ns, wanted.mean_ns, 1e-9 * (1 + wanted.mean_ns));
  EXPECT_NEAR(found.deviation_ns, wanted.deviation_ns, 1e-6 * (1 + wanted.mean_ns));
  std::int64_t counted = 0;
  for (const DurationBin& bin : found.histogram) {
    EXPECT_EQ(bin.count,
              std::count_if(ns.begin(), ns.end(), [&](std::int64_t x) { return bin.begin_ns <= x && x < bin.end_ns; }));
    counted += bin.count;
  }
  EXPECT_EQ(counted, wanted.count);
}

TEST(DurationStatistics, RandomDurationsEqualBruteForce) {
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Rng rng(seed);
    std::vector<std::int64_t> ns(static_cast<std::size_t>(rng.below(40)));
    for (std::int64_t& x : ns) x = rng.below(std::int64_t{1} << (1 + rng.below(30)));
    const std::vector<std::int64_t> before = ns;
    expect_equal(duration_statistics(ns), before);
  }
}

TEST(DurationStatistics, BinsFollowEachOtherAndAreAQuarterOfAnOctave) {
  for (int bin = 0; bin < 247; ++bin) {
    const std::int64_t begin = duration_bin_begin_ns(bin), end = duration_bin_begin_ns(bin + 1);
    ASSERT_LT(begin, end);
    EXPECT_EQ(duration_bin(begin), bin);
    EXPECT_EQ(duration_bin(end - 1), bin);
    if (bin >= 4) {
      EXPECT_LE(end - begin, begin / 4);
    }
  }
  EXPECT_EQ(duration_bin_begin_ns(duration_bin(kNeverEnded) + 1), kNeverEnded);
}

class NamesOfRun : public testing::TwoRanks {
 protected:
  // Both ranks call their events "attend" or "norm", by other numbers.
  std::string text_of(int rank, const SpanEvent& event) const {
    return (event.name == 1) == (rank == 0) ? "attend" : "norm";
  }
  std::string merged() {
    for (int rank = 0; rank < 2; ++rank)
      for (std::size_t i = 0; i < events_[rank].size(); i += 50) events_[rank][i].flags |= kEventUnfinished;
    write_ranks();
    testing::merge(folder_ / "out.db", shards());
    return folder_ / "out.db";
  }
  // The durations in the file, read event by event.
  std::vector<std::int64_t> durations(const StoreReader& store, const std::string& name, std::optional<int> rank,
                                      EventWindow window, const std::function<bool(const SpanEvent&)>& take) {
    std::vector<std::int64_t> found;
    for (const Track& track : store.events().tracks()) {
      if (rank && track.rank != rank) continue;
      for (const SpanEvent& event : store.events().spans(track.track_id))
        if (window.holds(event) && (event.flags & kEventUnfinished) == 0 && store.events().name(event.name) == name &&
            take(event))
          found.push_back(event.end_ns - event.begin_ns);
    }
    return found;
  }
};

TEST_F(NamesOfRun, StatisticsAndGroupsEqualBruteForce) {
  const StoreReader store(merged());
  const auto any = [](const SpanEvent&) { return true; };
  const std::int64_t last_ns = store.events().spans(TrackId{1}).back().begin_ns;
  for (const EventWindow window : {EventWindow{}, EventWindow{last_ns / 7, last_ns / 3}, EventWindow{last_ns, 5}}) {
    NameQuery query{.name = "attend", .window = window};
    query.group_of = [](RunId, std::int64_t op) { return op % 5 == 0 ? std::nullopt : std::optional(op % 5); };
    const NameStatistics found = store.name_statistics(query);
    expect_equal(found.all, durations(store, "attend", {}, window, any));
    for (const auto& [rank, statistics] : found.by_rank)
      expect_equal(statistics, durations(store, "attend", rank, window, any));
    for (const auto& [group, statistics] : found.by_group)
      expect_equal(statistics, durations(store, "attend", {}, window, [of = group](const SpanEvent& event) {
                     return event.op_id >= 0 && event.op_id % 5 == of;
                   }));
    if (found.all.count == 0) continue;
    EXPECT_EQ(found.by_rank.size(), 2u);
    EXPECT_EQ(found.by_group.size(), 4u);
    EXPECT_EQ(found.by_run.at(run_), found.all);
    EXPECT_GT(found.unfinished, 0);
    query.rank = 1;
    query.run = run_;
    EXPECT_EQ(store.name_statistics(query).all, found.by_rank.at(1));
    query.run = kNoRun;
    EXPECT_EQ(store.name_statistics(query).all.count, 0);
  }
}

TEST_F(NamesOfRun, NamesAreFoundByAPartOfThem) {
  const StoreReader store(merged());
  std::map<std::string, std::int64_t> counts;
  for (int rank = 0; rank < 2; ++rank)
    for (const SpanEvent& event : events_[rank]) ++counts[text_of(rank, event)];
  EXPECT_EQ(store.find_name("TEN"), (std::vector<NameCount>{{"attend", counts["attend"]}}));
  EXPECT_EQ(store.find_name("").size(), 2u);
  EXPECT_EQ(store.find_name("%"), std::vector<NameCount>());
  EXPECT_EQ(store.name_statistics({.name = "atten"}).all.count, 0);
}

}  // namespace
}  // namespace spscope
