// The clock of a device that drifts, seen through delays: what it says lies between the truth and what was told.
#include "collectors/nccl/gpu_clock.h"

#include <gtest/gtest.h>

#include <random>

namespace spscope::nccl {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A timer that shows 1.7e18 when the host's clock shows 5e12, and gains `drift`.
struct Device {
  double drift = 0;
  std::uint64_t timer(std::int64_t host_ns) const {
    const std::int64_t since = host_ns - 5'000 * kSecond;
    return static_cast<std::uint64_t>(1'700'000'000 * kSecond + since +
                                      static_cast<std::int64_t>(drift * static_cast<double>(since)));
  }
};

// Tells of `count` moments, 10 ms apart, at least 4 us late.
std::int64_t tell(GpuClock& clock, const Device& device, int count, std::int64_t begin_ns, bool calls = true) {
  std::mt19937 random(7);
  std::exponential_distribution<double> jitter(1.0 / 20'000);
  std::int64_t host_ns = begin_ns;
  for (int i = 0; i < count; ++i, host_ns += 10'000'000) {
    clock.seen(device.timer(host_ns), host_ns + 4'000 + static_cast<std::int64_t>(jitter(random)));
    if (calls) clock.not_before(device.timer(host_ns), host_ns - 9'000 - static_cast<std::int64_t>(jitter(random)));
  }
  return host_ns;
}

TEST(GpuClock, KnowsNothingBeforeThereIsAPairNorHowWrongItIsWithoutCalls) {
  GpuClock clock;
  EXPECT_FALSE(clock.known());
  clock.not_before(17, 12);
  EXPECT_FALSE(clock.known());
  EXPECT_FALSE(clock.error_ns());
  GpuClock without_calls;
  tell(without_calls, {}, 100, 5'000 * kSecond, false);
  EXPECT_TRUE(without_calls.known());
  EXPECT_FALSE(without_calls.error_ns());
}

TEST(GpuClock, FollowsATimerThatDrifts) {
  for (const double drift : {0.0, 37e-6, -120e-6}) {
    GpuClock clock;
    const Device device = {drift};
    std::int64_t end_ns = 5'000 * kSecond;
    for (int second = 0; second < 40; second += 4) {
      end_ns = tell(clock, device, 400, end_ns);
      const std::int64_t moment_ns = end_ns - 1'500'000'000;
      const std::int64_t late_ns = clock.host_ns(device.timer(moment_ns)) - moment_ns;
      EXPECT_GT(late_ns, 1'000) << drift << " after " << second << " s";
      EXPECT_LT(late_ns, 12'000) << drift << " after " << second << " s";
      ASSERT_TRUE(clock.error_ns());
      EXPECT_GT(*clock.error_ns(), late_ns - 2'000);
      EXPECT_LT(*clock.error_ns(), 30'000);
    }
  }
}

TEST(GpuClock, HasNoSlopeFromAShortTime) {
  GpuClock clock;
  const Device device = {.drift = 10e-6};
  const std::int64_t end_ns = tell(clock, device, 20, 5'000 * kSecond);
  const std::int64_t late_ns = clock.host_ns(device.timer(end_ns + kSecond)) - (end_ns + kSecond);
  EXPECT_LT(std::abs(late_ns), 30'000) << "a slope of so few pairs would be wrong by more";
}

TEST(GpuClock, AnswersWhateverTheTimerShows) {
  GpuClock clock;
  const Device device;
  std::int64_t end_ns = tell(clock, device, 500, 5'000 * kSecond);
  for (const std::uint64_t timer : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, std::uint64_t{1} << 63}) {
    clock.seen(timer, end_ns);
    clock.not_before(timer, end_ns - 10);
    (void)clock.host_ns(timer);
    (void)clock.error_ns();
  }
  end_ns = tell(clock, device, 500, end_ns);
  (void)clock.host_ns(device.timer(end_ns));
}

}  // namespace
}  // namespace spscope::nccl
