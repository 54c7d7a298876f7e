// Every bucket equals brute force: the definition of a bucket written out, one bucket at a time, over all events.
#include "backend/store/pyramid/lod_pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/store/lod_brute_force.h"

namespace spscope {
namespace {

using testing::RandomEvents;

TEST(LodLevel, EveryBucketEqualsBruteForce) {
  Rng rng(1);
  for (const RandomEvents& most : {RandomEvents{.count = 400}, RandomEvents{.count = 300, .overlapping = true},
                                   RandomEvents{.count = 60, .largest_bits = 54},  // huge spans and gaps
                                   RandomEvents{.count = 60, .largest_bits = 54, .overlapping = true}})
    for (int round = 0; round < 40; ++round) {
      RandomEvents kind = most;
      kind.count = 1 + static_cast<int>(rng.below(most.count));
      const auto events = testing::random_events(rng, kind);
      const std::int64_t until_ns = testing::last_moment(events);
      for (int shift = lod_base_shift(kind.count, events.front().begin_ns, until_ns); shift <= 61; ++shift) {
        const std::int64_t around =
            lod_bucket(events[static_cast<std::size_t>(rng.below(std::ssize(events)))].begin_ns, shift);
        const std::int64_t furthest = std::int64_t{1} << (62 - shift);  // brute force counts with ends of buckets
        const std::int64_t first = std::max(around - rng.below(20), -furthest),
                           end = std::min(first + 1 + rng.below(40), furthest);
        if (first >= end) continue;
        LodLevel level{shift, first, std::vector<LodBucket>(static_cast<std::size_t>(end - first))};
        add_events(level, events, until_ns);
        ASSERT_EQ(level.buckets, testing::brute_force(events, shift, first, end, until_ns)) << "shift " << shift;
      }
    }
}

TEST(LodLevel, ABaseBucketHasAboutEightEvents) {
  for (const std::int64_t num_events : {100, 4096, 1'000'000}) {
    const int shift = lod_base_shift(num_events, 0, num_events * 1000 - 1);
    const double events_per_bucket = static_cast<double>(std::int64_t{1} << shift) / 1000;
    EXPECT_GE(events_per_bucket, 8);
    EXPECT_LT(events_per_bucket, 16.5);
  }
  EXPECT_EQ(lod_base_shift(10, 5, 5), 0);
  EXPECT_LE(lod_base_shift(1, std::numeric_limits<std::int64_t>::min(), kNeverEnded), kMaxLodShift);
}

}  // namespace
}  // namespace spscope
