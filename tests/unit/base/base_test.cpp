#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/base/dtype.h"
#include "backend/base/error.h"
#include "backend/base/nearest_name.h"
#include "backend/base/parameter.h"
#include "backend/base/result.h"
#include "backend/base/rng.h"

namespace spscope {
namespace {

TEST(ErrorCodes, NumbersAscendSoNoneIsUsedTwice) {
  int last = 0;
  for (const ErrorCodeRow& row : error_codes()) {
    EXPECT_GT(static_cast<int>(row.code), last) << row.name;
    last = static_cast<int>(row.code);
  }
}

TEST(ErrorText, SaysWhatWhereAndHowToFix) {
  const Problem problem{ErrorCode::kStrategyIllegal,
                        "strategy.usp.ulysses",
                        "16 exceeds the 12 heads",
                        "use at most 12",
                        {"compare.toml", 18, 11}};
  EXPECT_EQ(
      render(problem),
      "error SPS-100: strategy.usp.ulysses: 16 exceeds the 12 heads\n  --> compare.toml:18:11\n  use at most 12\n");
}

TEST(NearestName, FindsATypoAndRejectsAStranger) {
  const std::string_view names[] = {"ulysses", "ring", "usp"};
  EXPECT_EQ(nearest_name("ulyses", names), "ulysses");
  EXPECT_EQ(nearest_name("tensor-parallel", names), "");
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.00390625f).bits, 0x3f80);  // half way between 1 and 1 + 2^-7: even is down
  EXPECT_EQ(to_bf16(1.01171875f).bits, 0x3f82);  // half way between 1 + 2^-7 and 1 + 2^-6: even is up
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Rng, SameSeedGivesSameNumbers) {
  Rng a(7), b(7), c(8);
  EXPECT_EQ(a.bits(), b.bits());
  EXPECT_NE(a.bits(), c.bits());
}

TEST(Rng, BetaHasItsMean) {
  Rng rng(3);
  double sum = 0;
  for (int i = 0; i < 20000; ++i) sum += rng.beta(2.0, 6.0);
  EXPECT_NEAR(sum / 20000, 0.25, 0.005);  // standard error 0.001
}

TEST(Parameters, WrongValuesAreNamedAndNothingIsSet) {
  const std::vector<Parameter> rows = {
      {"ulysses", std::int64_t{1}, 1, 64, {}, "ranks", "degree"},
      {"placement", std::string("contiguous"), 0, -1, {"contiguous", "cyclic"}, "", ""}};
  Parameters values(rows);
  std::vector<Problem> problems;
  set_parameter(values, rows, "ulyses", "2", "usp", problems);
  set_parameter(values, rows, "ulysses", "2x", "usp", problems);
  set_parameter(values, rows, "ulysses", "65", "usp", problems);
  set_parameter(values, rows, "placement", "zigzag", "usp", problems);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].hint, "did you mean \"ulysses\"?");
  EXPECT_EQ(problems[1].code, ErrorCode::kConfigType);
  EXPECT_EQ(problems[2].code, ErrorCode::kConfigRange);
  EXPECT_EQ(values, Parameters(rows));
  set_parameter(values, rows, "ulysses", "8", "usp", problems);
  EXPECT_EQ(values.integer("ulysses"), 8);
}

TEST(Result, CaptureTurnsAThrownErrorIntoAValue) {
  auto failed = capture([]() -> int { throw Error(ErrorCode::kUsage, "no", "yes"); });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().hint(), "yes");
  EXPECT_EQ(*capture([] { return 3; }), 3);
}

}  // namespace
}  // namespace spscope
