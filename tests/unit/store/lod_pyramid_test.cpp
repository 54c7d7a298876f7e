// Every answer of a pyramid equals brute force: the definition of a bucket written out, one bucket at a time, over all
// events.
#include "backend/store/pyramid/lod_pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/store/lod_brute_force.h"

namespace spscope {
namespace {

using testing::brute_force;
using testing::random_events;
using testing::RandomEvents;

void expect_pyramid_is_brute_force(const std::vector<SpanEvent>& events, std::int64_t until_ns, Rng& rng) {
  const LodPyramid pyramid(events, until_ns);
  for (int shift = pyramid.base_shift(); shift <= 61; ++shift) {
    const std::int64_t around =
        lod_bucket(events[static_cast<std::size_t>(rng.below(std::ssize(events)))].begin_ns, shift);
    const std::int64_t most = std::int64_t{1} << (62 - shift);  // brute force counts with ends of buckets
    const std::int64_t first = std::max(around - rng.below(20), -most), end = std::min(first + rng.below(40), most);
    ASSERT_EQ(pyramid.buckets(shift, first, end), brute_force(events, shift, first, end, until_ns))
        << "shift " << shift;
  }
}

TEST(LodPyramid, EveryAnswerEqualsBruteForce) {
  Rng rng(1);
  for (const RandomEvents& most : {RandomEvents{.count = 400}, RandomEvents{.count = 300, .overlapping = true},
                                   RandomEvents{.count = 60, .largest_bits = 54},  // huge spans and gaps
                                   RandomEvents{.count = 60, .largest_bits = 54, .overlapping = true}})
    for (int round = 0; round < 100; ++round) {
      RandomEvents kind = most;
      kind.count = 1 + static_cast<int>(rng.below(most.count));
      const auto events = random_events(rng, kind);
      expect_pyramid_is_brute_force(events, testing::last_moment(events), rng);
    }
}

// Two short kernels of one category in one half and one longer of another in the other half: whoever merged winners
// would name the wrong category for the whole.
TEST(LodPyramid, TheLeadingCategoryComesFromSumsNotFromWinnersOfHalves) {
  const auto event = [](std::int64_t begin_ns, std::int64_t end_ns, EventCategory category) {
    return SpanEvent{.begin_ns = begin_ns, .end_ns = end_ns, .op_id = 0, .name = 0, .flags = event_flags(category)};
  };
  LodLevel level = make_lod_level(4, 0, 63);
  add_events(level,
             std::vector{event(0, 6, EventCategory::kAttend), event(6, 11, EventCategory::kLocal),
                         event(16, 22, EventCategory::kTransfer), event(22, 27, EventCategory::kLocal)},
             100);
  const std::vector<std::uint8_t> fine = lod_strip(level),
                                  coarse = lod_strip(
                                      {.shift = 5, .first_bucket = 0, .buckets = lod_answer(level, 5, 0, 2, 100)});
  EXPECT_EQ(fine[0] >> 4, static_cast<int>(EventCategory::kAttend));
  EXPECT_EQ(fine[1] >> 4, static_cast<int>(EventCategory::kTransfer));
  EXPECT_EQ(coarse[0] >> 4, static_cast<int>(EventCategory::kLocal));
}

TEST(LodPyramid, ABaseBucketHasAboutEightEvents) {
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
