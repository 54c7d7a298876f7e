#include "backend/base/time_range.h"

#include <gtest/gtest.h>

#include "backend/base/rng.h"

namespace spscope {
namespace {

TEST(TimeRange, TimesAreDecimalsWithAUnit) {
  EXPECT_EQ(parse_time_ns("12"), 12);
  EXPECT_EQ(parse_time_ns("12ns"), 12);
  EXPECT_EQ(parse_time_ns("1.5us"), 1'500);
  EXPECT_EQ(parse_time_ns("-3ms"), -3'000'000);
  EXPECT_EQ(parse_time_ns("0.25s"), 250'000'000);
  EXPECT_EQ(parse_time_ns("1.2345us"), 1'235);  // half a nanosecond goes up
  EXPECT_EQ(parse_time_range("1.2ms..1.9ms"), (TimeRange{1'200'000, 1'900'000}));
  EXPECT_EQ(parse_time_range("2s..1s"), (TimeRange{2'000'000'000, 1'000'000'000}));
}

TEST(TimeRange, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", "ms", ".5ms", "5.ms", "1e3", "1 ms", "+1", "--1", "1.2.3ms", "1min", "9223372036855ms",
                           "99999999999999999999"})
    EXPECT_EQ(parse_time_ns(text), std::nullopt) << text;
  for (const char* text : {"", "..", "1ms", "1ms..", "..1ms", "1ms...2ms", "1ms-2ms"})
    EXPECT_EQ(parse_time_range(text), std::nullopt) << text;
}

TEST(TimeRange, TheTextOfARangeReadsBackAsTheSame) {
  Rng rng(3);
  for (int i = 0; i < 1'000; ++i) {
    const std::int64_t begin_ns = rng.below(std::int64_t{1} << (1 + rng.below(60))) * (rng.below(2) == 0 ? 1 : -1),
                       end_ns = rng.below(std::int64_t{1} << (1 + rng.below(60)));
    EXPECT_EQ(parse_time_range(time_range_text(begin_ns, end_ns)), (TimeRange{begin_ns, end_ns}));
  }
  EXPECT_EQ(time_range_text(0, 1'900'000), "0ns..1.9ms");
}

}  // namespace
}  // namespace spscope
