// Exchanges are made up from a known clock, so the error of a fit is known too.
#include "backend/base/clock_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/base/rng.h"

namespace spscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEpoch = 1'790'000'000 * kSecond;

// A straight clock and a network. Delays are a floor plus exponential jitter, per direction.
struct World {
  std::int64_t raw_start_ns = 5'000 * kSecond;
  double offset_ns = 1e9;
  double drift = 50e-6;
  double forward_floor_ns = 1'000, backward_floor_ns = 1'000;
  double forward_jitter_ns = 2'000, backward_jitter_ns = 2'000;

  // Run clock at a raw time; the run clock starts at offset_ns.
  double run_at(double since_start_ns) const { return offset_ns + since_start_ns * (1 + drift); }
};

double exponential(Rng& rng, double mean) { return -mean * std::log(1 - rng.uniform()); }

std::vector<ClockSample> exchanges(const World& world, int count, std::int64_t every_ns, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<ClockSample> samples;
  for (int i = 0; i < count; ++i) {
    const auto sent = static_cast<double>(i * every_ns);
    const double there = sent + world.forward_floor_ns + exponential(rng, world.forward_jitter_ns);
    const double back = there + world.backward_floor_ns + exponential(rng, world.backward_jitter_ns);
    samples.push_back({.sent_ns = world.raw_start_ns + std::llround(sent),
                       .remote_ns = std::llround(world.run_at(there)),
                       .received_ns = world.raw_start_ns + std::llround(back)});
  }
  return samples;
}

// The largest error between the first and the last exchange: of two straight lines, at one of the ends.
double largest_error_ns(const World& world, const ClockFit& fit, std::int64_t interval_ns) {
  double largest = 0;
  for (const std::int64_t since : {std::int64_t{0}, interval_ns / 2, interval_ns}) {
    const std::int64_t told = run_time_ns(fit, world.raw_start_ns + since);
    largest = std::max(largest, std::abs(static_cast<double>(told) - world.run_at(static_cast<double>(since))));
  }
  return largest;
}

struct Trials {
  double worst_error_ns = 0;
  std::int64_t widest_bound_ns = 0;
  int held = 0;
};

Trials try_often(const World& world, int trials, int count, std::int64_t every_ns) {
  Trials result;
  for (int trial = 0; trial < trials; ++trial) {
    const auto samples = exchanges(world, count, every_ns, static_cast<std::uint64_t>(trial));
    const ClockFit fit = fit_clock(samples);
    const double error = largest_error_ns(world, fit, (count - 1) * every_ns);
    result.worst_error_ns = std::max(result.worst_error_ns, error);
    result.widest_bound_ns = std::max(result.widest_bound_ns, fit.bound_ns);
    result.held += error <= static_cast<double>(fit.bound_ns);
  }
  return result;
}

void expect_errors_within(const World& world, double error_ns, std::int64_t bound_ns) {
  const Trials trials = try_often(world, 400, 6'000, 10'000'000);
  EXPECT_LE(trials.worst_error_ns, error_ns);
  EXPECT_GE(trials.held, 380);
  EXPECT_LE(trials.widest_bound_ns, bound_ns);
}

// The floors are unknown to the fit; shared memory takes about 1 us, a data centre's network about 20.
TEST(ClockFit, OnOneHostErrsByLessThan5UsAndItsBoundHolds) { expect_errors_within({}, 5'000, 5'000); }

TEST(ClockFit, BetweenHostsErrsByLessThan20UsAndItsBoundHolds) {
  expect_errors_within(
      {.forward_floor_ns = 20e3, .backward_floor_ns = 20e3, .forward_jitter_ns = 10e3, .backward_jitter_ns = 10e3},
      20'000, 30'000);  // half a round trip and what jitter leaves
}

TEST(ClockFit, BoundCoversAnAsymmetryThatNoOneCanMeasure) {
  const World lopsided = {
      .forward_floor_ns = 40'000, .backward_floor_ns = 2'000, .forward_jitter_ns = 10'000, .backward_jitter_ns = 1'000};
  const Trials trials = try_often(lopsided, 200, 1'000, 10'000'000);
  EXPECT_GT(trials.worst_error_ns, 15'000);  // half the difference of the floors
  EXPECT_EQ(trials.held, 200);
}

TEST(ClockFit, BoundHoldsForFewExchangesAtAnyDistance) {
  for (const int count : {1, 2, 3, 5, 40}) {
    for (const std::int64_t every_ns : {std::int64_t{0}, std::int64_t{1'000}, 10 * kSecond / 1'000, 100 * kSecond}) {
      const Trials trials = try_often({}, 300, count, every_ns);
      EXPECT_EQ(trials.held, 300) << count << " exchanges, one every " << every_ns << " ns";
    }
  }
}

TEST(ClockFit, OneExchangeGivesItsMiddleAndNoDrift) {
  const ClockSample sample = {.sent_ns = 1'000, .remote_ns = 500'000, .received_ns = 3'000};
  const ClockFit fit = fit_clock({&sample, 1});
  EXPECT_EQ(run_time_ns(fit, 2'000), 500'000);
  EXPECT_EQ(fit.drift, 0);
  EXPECT_EQ(fit.exchanges, 1);
  EXPECT_GE(fit.bound_ns, 1'000);
  EXPECT_LE(fit.bound_ns, 1'005);
}

TEST(ClockFit, TellsDriftOnlyWhereTheExchangesReachFarEnough) {
  const World world;
  EXPECT_EQ(fit_clock(exchanges(world, 100, 10'000, 1)).drift, 0);  // 1 ms: jitter alone could be 2,000 ppm
  EXPECT_NEAR(fit_clock(exchanges(world, 6'000, 10'000'000, 1)).drift, 50e-6, 1e-9);
}

TEST(ClockFit, WithNoExchangeNothingIsKnown) {
  const ClockFit fit = fit_clock({});
  EXPECT_EQ(fit.bound_ns, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(fit.exchanges, 0);
  EXPECT_TRUE(clock_envelope({}).empty());
}

// A clock that was set by 3 ms halfway is no straight line: every line is wrong by more than 1 ms somewhere.
TEST(ClockFit, BoundShowsAClockThatDoesNotRunStraight) {
  auto samples = exchanges({}, 2'000, 10'000'000, 7);
  for (std::size_t i = samples.size() / 2; i < samples.size(); ++i) samples[i].remote_ns += 3'000'000;
  EXPECT_GE(fit_clock(samples).bound_ns, 1'000'000);
}

void expect_same(const ClockFit& one, const ClockFit& other) {
  EXPECT_EQ(one.raw_zero_ns, other.raw_zero_ns);
  EXPECT_EQ(one.offset_ns, other.offset_ns);
  EXPECT_EQ(one.drift, other.drift);
  EXPECT_EQ(one.bound_ns, other.bound_ns);
}

TEST(ClockFit, LeavesOutExchangesThatEndBeforeTheyBeginAndOrderDoesNotMatter) {
  auto samples = exchanges({}, 500, 10'000'000, 3);
  const ClockFit clean = fit_clock(samples);
  samples.push_back({.sent_ns = 2 * kSecond, .remote_ns = 0, .received_ns = kSecond});
  samples.push_back({.sent_ns = std::numeric_limits<std::int64_t>::max(),
                     .remote_ns = 0,
                     .received_ns = std::numeric_limits<std::int64_t>::min()});
  std::ranges::reverse(samples);
  const ClockFit fit = fit_clock(samples);
  EXPECT_EQ(fit.rejected, 2);
  EXPECT_EQ(fit.exchanges, 500);
  expect_same(fit, clean);
}

TEST(ClockFit, KeepsNanosecondsOfClocksThatCountFromTheEpoch) {
  World world;
  world.raw_start_ns = kEpoch;
  world.offset_ns = 0;
  auto samples = exchanges(world, 6'000, 10'000'000, 9);
  for (ClockSample& sample : samples) sample.remote_ns += kEpoch;
  ClockFit fit = fit_clock(samples);
  fit.offset_ns -= kEpoch;
  EXPECT_LE(largest_error_ns(world, fit, 60 * kSecond), 100);
}

// Nothing is known of such samples; the sanitizers say whether anything overflows.
TEST(ClockFit, TakesEveryValue) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t values[] = {kLowest, kLowest + 1, -kSecond, 0, 1, kEpoch, kHighest - 1, kHighest};
  Rng rng(11);
  for (int trial = 0; trial < 2'000; ++trial) {
    std::vector<ClockSample> samples(static_cast<std::size_t>(rng.below(6)));
    for (ClockSample& sample : samples) sample = {values[rng.below(8)], values[rng.below(8)], values[rng.below(8)]};
    const ClockFit fit = fit_clock(samples);
    EXPECT_EQ(static_cast<std::size_t>(fit.exchanges + fit.rejected), samples.size());
    EXPECT_GE(fit.bound_ns, 0);
    EXPECT_TRUE(std::abs(fit.drift) <= 500e-6);
    for (const std::int64_t value : values) (void)run_time_ns(fit, value);
  }
}

TEST(ClockEnvelope, FitsTheSameWithFarFewerSamples) {
  for (const int count : {1, 2, 3, 50, 6'000}) {
    const auto samples = exchanges({}, count, 10'000'000, static_cast<std::uint64_t>(count));
    const auto envelope = clock_envelope(samples);
    EXPECT_LE(envelope.size(), 80u);
    for (const ClockSample& kept : envelope) EXPECT_TRUE(std::ranges::find(samples, kept) != samples.end());
    expect_same(fit_clock(envelope), fit_clock(samples));
  }
}

}  // namespace
}  // namespace spscope
