// The small units of backend/base.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "backend/base/cores.h"
#include "backend/base/csv_table.h"
#include "backend/base/dtype.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/error.h"
#include "backend/base/listed.h"
#include "backend/base/median.h"
#include "backend/base/memory_limit.h"
#include "backend/base/nearest_name.h"
#include "backend/base/parameter.h"
#include "backend/base/regular_file.h"
#include "backend/base/result.h"
#include "backend/base/rng.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// Calls on files are made again at EAGAIN: it is one of mmap(2), whose limit is that of locked memory.
TEST(ErrnoRemedy, NamesTheLimit) {
  EXPECT_EQ(remedy_of(EAGAIN), "raise the limit of locked memory (ulimit -l)");
  EXPECT_EQ(remedy_of(ENOENT, "look"), "look");
}

TEST(Listed, IsHowSentencesHaveIt) {
  EXPECT_EQ(listed(std::vector<int>{}), "");
  EXPECT_EQ(listed(std::vector{0}), "0");
  EXPECT_EQ(listed(std::set{0, 2}), "0 and 2");
  EXPECT_EQ(listed(std::vector<std::string>{"a", "b", "c"}, "or"), "a, b or c");
}

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
  const std::string_view clusters[] = {"a100x8", "a800x8", "h100x8"};
  EXPECT_EQ(nearest_name("H100x8", clusters), "h100x8");
  const std::string_view flags[] = {"--set", "--output", "--force"};
  EXPECT_EQ(nearest_name("--out", flags), "--output");
  const std::string_view models[] = {"wan2.1-t2v-1.3b", "wan2.1-t2v-14b", "wan-mini"};
  EXPECT_EQ(nearest_name("wan2.1-14b", models), "wan2.1-t2v-14b");
  EXPECT_EQ(nearest_name("Wan2.1-T2V-1.3B", models), "wan2.1-t2v-1.3b");
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.00390625f).bits, 0x3f80);  // half way between 1 and 1 + 2^-7: even is down
  EXPECT_EQ(to_bf16(1.01171875f).bits, 0x3f82);  // half way between 1 + 2^-7 and 1 + 2^-6: even is up
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

// The first outputs of SplitMix64 for the seed 1234567, as its author's reference program prints them.
TEST(Rng, BitsAreThoseOfSplitMix64) {
  Rng rng(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(rng.bits(), expected);
}

// By a second implementation in Python, with the same draws in the same order. The C library's log, cos and pow may
// differ in the last bit.
TEST(Rng, NormalGammaAndBetaAreThoseOfASecondImplementation) {
  constexpr double kRounding = 1e-13;
  Rng normal(7), gamma(7), small_gamma(7), beta(7);
  for (const double expected : {0.9884743323187353, -1.8642558067312274, 0.00392020721518934})
    EXPECT_NEAR(normal.normal(), expected, kRounding);
  for (const double expected : {3.9716570070874244, 0.7879406037957932, 1.4772465572253957})
    EXPECT_NEAR(gamma.gamma(2.5), expected, kRounding);
  for (const double expected : {0.45107144843839925, 0.5286417025378702, 0.0011879649155255142})
    EXPECT_NEAR(small_gamma.gamma(0.5), expected, kRounding);
  for (const double expected : {0.510620971168807, 0.12012453874854927, 0.359104881846199})
    EXPECT_NEAR(beta.beta(2, 6), expected, kRounding);
}

TEST(Parameters, WrongValuesAreNamedAndNothingIsSet) {
  const std::vector<Parameter> rows = {Parameter::integer("ulysses", 1, 1, 64, "ranks", "degree"),
                                       Parameter::choice("placement", {"contiguous", "cyclic"}, "")};
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

TEST(UsableCores, FollowTheAffinityOfTheProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(usable_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_LE(usable_cores(), CPU_COUNT(&before));
}

TEST(ParseCsv, ReadsQuotesCommasAndLineBreaks) {
  const Result<CsvTable> table = parse_csv("a,b\r\n\"x, \"\"y\"\"\nz\",2\n\n3,\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->find(0, "a")->text, "x, \"y\"\nz");
  EXPECT_EQ(table->find(0, "b")->text, "2");
  EXPECT_EQ(table->find(1, "b")->text, "");
  EXPECT_EQ(table->find(1, "a")->place.line, 5);
  EXPECT_EQ(table->find(1, "c"), nullptr);
}

TEST(ParseCsv, NamesEveryRowOfAnotherWidth) {
  const Result<CsvTable> table = parse_csv("a,b\n1,2\n1\n1,2,3\n", "t.csv");
  ASSERT_FALSE(table.has_value());
  ASSERT_EQ(table.error().problems().size(), 2U);
  EXPECT_EQ(table.error().problems()[0].place.line, 3);
  EXPECT_EQ(table.error().problems()[1].place.line, 4);
}

TEST(ParseCsv, AQuoteThatIsNeverClosedIsAFault) { EXPECT_FALSE(parse_csv("a\n\"x\n", "t.csv").has_value()); }

TEST(Median, IsAMeasuredValueTheLowerOfTwo) {
  EXPECT_EQ(median(std::vector<double>{5}), 5);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_EQ(median(std::vector<double>{9, 1, 5, 7}), 5);
  EXPECT_EQ(median(std::vector<std::int64_t>{40, 10}), 10);
  EXPECT_EQ(median_index(1), 0u);
  EXPECT_EQ(median_index(4), 1u);
  EXPECT_EQ(median_index(5), 2u);
}

TEST(Quantile, IsLinearBetweenNeighbours) {
  const std::int64_t sorted[] = {10, 20, 40, 80};
  EXPECT_DOUBLE_EQ(quantile(sorted, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(quantile(sorted, 0.75), 50);
  EXPECT_DOUBLE_EQ(quantile(sorted, 1), 80);
  EXPECT_DOUBLE_EQ(quantile({sorted, 1}, 0.75), 10);
}

TEST(MemoryText, HasTheUnitThatFits) {
  EXPECT_EQ(memory_text(0), "0 bytes");
  EXPECT_EQ(memory_text(1023), "1023 bytes");
  EXPECT_EQ(memory_text(1536), "1.5 KiB");
  EXPECT_EQ(memory_text(std::int64_t{8} << 30), "8 GiB");
  EXPECT_EQ(memory_text(std::int64_t{1} << 50), "1024 TiB");
}

bool can_take(std::size_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

// In a process of its own, since it holds for good.
TEST(MemoryCap, LeavesWhatIsAllowedAndNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto in_child = [] {
    cap_process_memory(64 << 20);
    if (can_take(48 << 20) && !can_take(48 << 20)) std::fputs("as allowed", stderr);
    std::abort();
  };
  EXPECT_DEATH(in_child(), "as allowed");
}

TEST(RegularFile, ReadsUpToTheLimit) {
  const TemporaryFolder folder;
  RegularFile file(folder.write("text", "0123456789"));
  ASSERT_TRUE(file.is_open());
  EXPECT_TRUE(file.is_ours());
  EXPECT_EQ(file.read(10), "0123456789");
  EXPECT_EQ(file.read(9), std::nullopt);
  EXPECT_FALSE(file.reason().empty());
  ASSERT_EQ(::symlink(folder.file("text").c_str(), folder.file("link").c_str()), 0);
  EXPECT_TRUE(RegularFile(folder / "link").is_open());
}

}  // namespace
}  // namespace spscope
