#include "collectors/nvml/pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace spscope::nvml {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMs = 1'000'000;

// Time that passes only by waiting and working; it is over after `waits` waits, each of which ends `late_ns` late.
struct StandingClock {
  std::int64_t time_ns = 7 * kMs, late_ns = 0;
  int waits = 5;
  std::vector<std::int64_t> worked = {};
  std::int64_t run(const std::function<std::int64_t()>& takes_ns) {
    const PaceClock clock = {.now = [this] { return time_ns; },
                             .wait =
                                 [this](std::int64_t until_ns) {
                                   if (waits-- == 0) return false;
                                   time_ns = std::max(time_ns, until_ns) + late_ns;
                                   return true;
                                 }};
    return work_at_pace(clock, 100 * kMs, [&] {
      worked.push_back(time_ns / kMs);
      time_ns += takes_ns();
    });
  }
};

TEST(NvmlPace, NeitherWorkThatTakesTimeNorWakingLateAddsUp) {
  StandingClock clock;
  EXPECT_EQ(clock.run([] { return 30 * kMs; }), 0);
  EXPECT_THAT(clock.worked, ElementsAre(7, 107, 207, 307, 407));
  StandingClock late = {.late_ns = 9 * kMs};
  EXPECT_EQ(late.run([] { return kMs; }), 0);
  EXPECT_THAT(late.worked, ElementsAre(16, 116, 216, 316, 416));
}

TEST(NvmlPace, TimesThatPassDuringWorkAreLeftOutAndCounted) {
  StandingClock clock;
  int calls = 0;
  EXPECT_EQ(clock.run([&] { return ++calls == 2 ? 250 * kMs : kMs; }), 2);
  EXPECT_THAT(clock.worked, ElementsAre(7, 107, 407, 507, 607));
}

TEST(NvmlPace, NothingIsDoneOnceItIsOver) {
  StandingClock clock = {.waits = 0};
  EXPECT_EQ(clock.run([] { return kMs; }), 0);
  EXPECT_THAT(clock.worked, ElementsAre());
}

}  // namespace
}  // namespace spscope::nvml
