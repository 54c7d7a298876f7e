// Ticks of clocks: those of a coarse clock are found, and every difference comes back whatever the tick.
#include "backend/store/chunk/clock_ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backend/base/rng.h"

namespace spscope {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

// Differences of what a clock shows that ticks every `tick_ns`, as a lane of transfers takes them: hundreds of
// nanoseconds between two transfers, some microseconds or milliseconds of a transfer.
std::vector<std::int64_t> differences(double tick_ns, int count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::int64_t> all;
  double now = 5e9;
  const auto shown = [&] { return static_cast<std::int64_t>(std::floor(std::floor(now / tick_ns) * tick_ns)); };
  for (int i = 0; i < count; ++i) {
    const std::int64_t before = shown();
    now += std::exp(std::log(80.0) + (i % 2 == 0 ? 2 : 9) * rng.uniform());
    all.push_back(shown() - before);
  }
  return all;
}

std::size_t rests(std::uint64_t tick, const std::vector<std::int64_t>& differences_ns) {
  ClockTicks clock(tick);
  std::size_t count = 0;
  for (const std::int64_t x : differences_ns) count += clock.step(x).rest_ns != 0;
  return count;
}

TEST(ClockTicks, TicksAreFound) {
  for (const double tick_ns : {5.0, 8.258, 10.0, 10.0149139, 26.0417, 40.0, 41.6667})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const std::vector<std::int64_t> all = differences(tick_ns, 4'096, seed);
      const std::uint64_t tick = find_tick(all);
      EXPECT_NEAR(std::ldexp(static_cast<double>(tick), -ClockTicks::kFractionBits), tick_ns, 1e-6 * tick_ns) << seed;
      EXPECT_LT(rests(tick, all), all.size() / 16) << tick_ns;
    }
}

TEST(ClockTicks, ClocksOfNanosecondsHaveNone) {
  for (const std::uint64_t seed : {4, 5, 6}) {
    EXPECT_EQ(find_tick(differences(1, 4'096, seed)), ClockTicks::kNanosecond);
    EXPECT_EQ(find_tick(differences(10, 20, seed)), ClockTicks::kNanosecond) << "too few to tell";
  }
  EXPECT_EQ(find_tick({}), ClockTicks::kNanosecond);
  EXPECT_EQ(find_tick(std::vector<std::int64_t>(4'096, Limits::min())), ClockTicks::kNanosecond);
}

// As the reader goes: from ticks and rests alone, with any tick.
TEST(ClockTicks, EveryDifferenceComesBack) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t tick = round == 0 ? ClockTicks::kNanosecond : rng.bits() >> rng.below(63) | 1;
    ClockTicks written(tick), read(tick);
    for (int i = 0; i < 300; ++i) {
      auto wanted = static_cast<std::int64_t>(rng.bits() >> rng.below(64));
      if (rng.below(2) == 0) wanted = -(wanted / 2);
      if (rng.below(20) == 0) wanted = rng.below(2) == 0 ? Limits::min() : Limits::max();
      const Ticks ticks = written.step(wanted);
      ASSERT_EQ(read.eighth(ticks.ticks) >> 3, 0);
      ASSERT_EQ(read.step(ticks), wanted) << "tick " << tick;
    }
  }
}

// Hostile numbers wrap.
TEST(HostileClockTicks, AnyNumbersAreTaken) {
  Rng rng(8);
  for (const std::uint64_t tick : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    ClockTicks clock(tick);
    for (int i = 0; i < 1'000; ++i) {
      const Ticks any{.ticks = static_cast<std::int64_t>(rng.bits()), .rest_ns = static_cast<std::int64_t>(rng.bits())};
      ASSERT_EQ(clock.eighth(any.ticks) >> 3, 0);
      (void)clock.step(any);
    }
  }
}

}  // namespace
}  // namespace spscope
