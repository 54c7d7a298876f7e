#include "backend/report/format.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TEST(Format, DurationsHaveThreeDigitsAndTheLargestUnitThatFits) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(812), "812 ns");
  EXPECT_EQ(duration_text(12'340), "12.3 us");
  EXPECT_EQ(duration_text(61'249'000), "61.2 ms");
  EXPECT_EQ(duration_text(2'500'000'000), "2.50 s");
  EXPECT_EQ(duration_text(4'120'000'000'000), "4,120 s");
  EXPECT_EQ(duration_text(-1'500), "-1.50 us");
}

TEST(Format, RoundingNeverShowsFourDigits) {
  EXPECT_EQ(duration_text(999'400), "999 us");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(9'996'000), "10.0 ms");
  EXPECT_EQ(duration_text(99'960'000), "100 ms");
}

TEST(Format, BytesAreDecimal) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1'000), "1.00 kB");
  EXPECT_EQ(bytes_text(338'688'000), "339 MB");
  EXPECT_EQ(bytes_text(1'354'752'000), "1.35 GB");
}

TEST(Format, MemoryIsBinary) {
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 1023))), "1,023 B");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 812'000'000))), "774 MiB");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 1'073'700'000))), "1.00 GiB");
  EXPECT_EQ(joined(cell_text(cell(Hint::kMemory, 85'899'345'920))), "80.0 GiB");
}

TEST(Format, CountsHaveCommas) {
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(75'600), "75,600");
  EXPECT_EQ(count_text(1'234'567), "1,234,567");
}

TEST(Format, PercentsLoseTheirDecimalAboveTen) {
  EXPECT_EQ(percent_text(0.05), "5.0 %");
  EXPECT_EQ(percent_text(0.0994), "9.9 %");
  EXPECT_EQ(percent_text(0.355), "36 %");
}

TEST(Format, SpreadHasTheUnitAndDecimalsOfItsValue) {
  EXPECT_EQ(joined(cell_text(duration_cell(61'200'000, 400'000))), "61.2 ms ±0.4");
  EXPECT_EQ(joined(cell_text(duration_cell(1'250'000, 90'000))), "1.25 ms ±0.09");
}

TEST(Format, WhatIsNotKnownIsADashAndNeverZero) {
  EXPECT_EQ(cell_text(duration_cell({})).value, "–");
  EXPECT_EQ(cell_text(cell(Hint::kBytes, {})).value, "–");
}

TEST(Format, ChecksSayWhatWasFound) {
  EXPECT_EQ(cell_text(verdict_cell("passed", 2.9e-6)).value, "ok 2.9e-06");
  EXPECT_EQ(cell_text(verdict_cell("failed", 0.31)).value, "WRONG 3.1e-01");
  EXPECT_EQ(cell_text(verdict_cell("skipped", {})).value, "not checked");
}

TEST(Format, WidthCountsCodePoints) { EXPECT_EQ(display_width("±0.4"), 4); }

}  // namespace
}  // namespace spscope
