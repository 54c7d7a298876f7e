// What a picture is told of a counter, against its samples.
#include "gui/views/timeline/counter_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "backend/base/rng.h"

namespace spscope::gui {
namespace {

std::vector<CounterSample> any_samples(Rng& rng, std::int64_t count) {
  std::vector<CounterSample> samples;
  std::int64_t now_ns = -rng.below(1'000);
  for (std::int64_t i = 0; i < count; ++i) {
    now_ns += 1 + rng.below(50);
    samples.push_back({now_ns, static_cast<double>(rng.below(1'000)) - 200});
  }
  return samples;
}

// Each point is of the samples from its time to that of the next; together they are all that the range shows.
TEST(CounterSeries, PointsAreAsManyAsAskedForAndOfAllSamples) {
  Rng rng(3);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<CounterSample> samples = any_samples(rng, 1 + rng.below(400));
    const CounterSeries series(samples);
    EXPECT_EQ(series.most(), std::ranges::max_element(samples, {}, &CounterSample::value)->value);
    EXPECT_EQ(series.least(), std::ranges::min_element(samples, {}, &CounterSample::value)->value);
    EXPECT_EQ(series.last_ns(), samples.back().time_ns);
    const std::int64_t first = samples.front().time_ns, all = samples.back().time_ns - first + 1;
    const std::int64_t begin = first + rng.below(all), end = begin + 1 + rng.below(all);
    const std::size_t most = 2 + static_cast<std::size_t>(rng.below(60));
    const auto points = series.points(begin, end, most);
    ASSERT_FALSE(points.empty());
    ASSERT_LE(points.size(), most);
    EXPECT_LE(points.front().time_ns, begin);
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_LT(points[i].time_ns, end);
      const std::int64_t until =
          i + 1 < points.size() ? points[i + 1].time_ns : std::numeric_limits<std::int64_t>::max();
      double least = 1e9, last = 0, greatest = -1e9;
      for (const CounterSample& sample : samples) {
        if (sample.time_ns < points[i].time_ns || sample.time_ns >= until) continue;
        // The last point of a range ends where the next one would begin, which is not in the answer.
        if (i + 1 == points.size() && sample.time_ns >= end) continue;
        least = std::min(least, sample.value);
        greatest = std::max(greatest, sample.value);
        last = sample.value;
      }
      ASSERT_LE(points[i].least, least);
      ASSERT_GE(points[i].most, greatest);
      if (i + 1 == points.size()) continue;
      ASSERT_EQ(points[i].least, least);
      ASSERT_EQ(points[i].most, greatest);
      ASSERT_EQ(points[i].last, last);
    }
  }
}

TEST(CounterSeries, AMomentHasTheLastSampleBeforeIt) {
  Rng rng(4);
  const std::vector<CounterSample> samples = any_samples(rng, 90);
  const CounterSeries series(samples);
  for (std::int64_t ns = samples.front().time_ns - 3; ns < samples.back().time_ns + 3; ++ns) {
    std::optional<double> held;
    for (const CounterSample& sample : samples)
      if (sample.time_ns <= ns && ns <= samples.back().time_ns) held = sample.value;
    const CounterPoint* point = series.at(ns);
    ASSERT_EQ(point != nullptr, held.has_value()) << ns;
    if (point != nullptr) {
      ASSERT_EQ(point->last, *held) << ns;
    }
  }
}

TEST(CounterSeries, OfMoreSamplesThanItHoldsSeveralAreOnePoint) {
  Rng rng(5);
  const std::vector<CounterSample> samples = any_samples(rng, 1'000);
  const CounterSeries few(samples, 100), all(samples);
  const std::int64_t end = samples.back().time_ns + 1;
  EXPECT_EQ(few.points(samples.front().time_ns, end, 1'000).size(), 100u);
  EXPECT_EQ(all.points(samples.front().time_ns, end, 1'000).size(), 1'000u);
  EXPECT_EQ(few.most(), all.most());
  EXPECT_EQ(few.points(samples.front().time_ns, end, 1'000).back().last, samples.back().value);
}

TEST(CounterSeries, OfNoNumbersIsEmpty) {
  const std::vector<CounterSample> samples = {{5, std::nan("")}, {9, std::numeric_limits<double>::infinity()}};
  const CounterSeries series(samples);
  EXPECT_TRUE(series.empty());
  EXPECT_TRUE(series.points(0, 100, 10).empty());
  EXPECT_EQ(series.at(7), nullptr);
}

TEST(CounterName, IsAQuantityAndItsUnit) {
  const auto name = [](std::string text, std::optional<std::string> device) {
    const CounterName found = counter_name({.kind = TrackKind::kCounter, .name = std::move(text), .device = device});
    return found.quantity + "|" + found.unit;
  };
  EXPECT_EQ(name("GPU 0 power (W)", "GPU 0"), "power|W");
  EXPECT_EQ(name("GPU 0 NVLink sent (GB/s)", "GPU 0"), "NVLink sent|GB/s");
  EXPECT_EQ(name("GPU 0 power (W)", "GPU 0 at 0000:3B:00.0"), "power|W");
  EXPECT_EQ(name("GPU 1 power (W)", "GPU 0 at 0000:3B:00.0"), "GPU 1 power|W");
  EXPECT_EQ(name("GPU 10 power (W)", "GPU 1 at 0000:3B:00.0"), "GPU 10 power|W");
  EXPECT_EQ(name("GPU 0 low clocks: power cap (0 or 1)", "GPU 0 at 0000:3B:00.0"), "low clocks: power cap (0 or 1)|");
  EXPECT_EQ(name("batches", std::nullopt), "batches|");
  EXPECT_EQ(name("(W)", std::nullopt), "(W)|");
}

}  // namespace
}  // namespace spscope::gui
