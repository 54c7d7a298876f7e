#include <gtest/gtest.h>

#include <sstream>

#include "backend/report/format.h"
#include "backend/report/render.h"
#include "backend/report/section.h"
#include "tests/unit/report/golden_file.h"
#include "tests/unit/report/sample_comparison.h"

namespace spscope {
namespace {

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, display_width(line));
  return width;
}

TEST(Terminal, ShowsWhoWinsWhyAndHowFarItCanBeTrusted) {
  expect_golden("report/projected.txt", render_terminal(sample_comparison()));
}

TEST(Terminal, FitsItsWidthByDroppingColumnsThatMatterLeast) {
  for (int width : {120, 100, 80, 70}) {
    const std::string text = render_terminal(make_section("summary", sample_comparison()), {false, width});
    EXPECT_LE(widest_line(text), width);
    EXPECT_NE(text.find("makespan"), std::string::npos);
    EXPECT_NE(text.find("ok 3.0e-06"), std::string::npos) << "the check never goes";
  }
}

TEST(Terminal, OversubscribedTimingGivesNoSpeedUpAndNoWinner) {
  Comparison c = sample_comparison();
  for (StrategyResult& s : c.strategies) {
    s.mode = RunMode::kExecute;
    s.bytes_counted = true;
    s.provenance = RunProvenance{Source::kMeasured, Source::kMeasured, Timing::kOversubscribed};
  }
  set_speedups(c.strategies);
  expect_golden("report/oversubscribed.txt", render_terminal(c));
}

TEST(Terminal, APlanShowsWhatNeedsNoRun) {
  Comparison c = sample_comparison();
  for (StrategyResult& s : c.strategies) {
    StrategyResult planned = s;
    planned.provenance.reset();
    planned.makespan_ns = planned.makespan_spread_ns = planned.attention_ns = planned.end_to_end_ns = std::nullopt;
    planned.times = {};
    planned.verify = "skipped";
    planned.max_error.reset();
    s = planned;
  }
  set_speedups(c.strategies);
  expect_golden("report/planned.txt", render_terminal(c));
}

TEST(Terminal, AWrongResultIsNamedAndCannotWin) {
  Comparison c = sample_comparison();
  c.strategies[2].verify = "failed";
  c.strategies[2].max_error = 0.31;
  set_speedups(c.strategies);
  const std::string text = render_terminal(c);
  EXPECT_NE(text.find("usp u2 r2 computed a wrong result; its times mean nothing."), std::string::npos);
  EXPECT_NE(text.find("WRONG 3.1e-01"), std::string::npos);
  EXPECT_NE(text.find("ring r4 wins"), std::string::npos);
  EXPECT_FALSE(c.strategies[2].speedup.has_value());
}

TEST(Terminal, TimesWithinTheirSpreadHaveNoWinner) {
  Comparison c = sample_comparison();
  c.strategies[2].makespan_ns = *c.strategies[1].makespan_ns - 400'000;  // the spread of ring is 500 us
  EXPECT_NE(render_terminal(c).find("usp u2 r2 and ring r4 are equally fast within the spread of their repeats."),
            std::string::npos);
}

TEST(Terminal, ColourIsOnlyThereWhenAsked) {
  EXPECT_EQ(render_terminal(sample_comparison()).find('\033'), std::string::npos);
  EXPECT_NE(render_terminal(sample_comparison(), {true, 120}).find('\033'), std::string::npos);
}

TEST(Terminal, EscapeSequencesOfAFileDoNotReachTheTerminal) {
  Comparison c = sample_comparison();
  c.workload.model = "evil\033]0;title\007";
  c.strategies[0].label = "a\033[2Jb\xc2\x9b";
  c.strategies[3].reason = "\033[31mred";
  const std::string text = render_terminal(c);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_EQ(text.find('\007'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
}

TEST(Terminal, NumbersStayWithTheirUnitsWhenLinesBreak) {
  Section section{"s", "", {Paragraph{"it loses 13.1 ms here", Tone::kPlain}}};
  EXPECT_EQ(render_terminal(section, {false, 13}), "it loses\n13.1 ms here\n");
}

TEST(Terminal, ModesStandInTablesOfTheirOwn) {
  Comparison c = sample_comparison();
  c.strategies[0].mode = RunMode::kExecute;
  c.strategies[0].provenance->network = Source::kMeasured;
  set_speedups(c.strategies);
  const std::string text = render_terminal(c);
  EXPECT_NE(text.find("executed\nstrategy"), std::string::npos);
  EXPECT_NE(text.find("projected\nstrategy"), std::string::npos);
}

}  // namespace
}  // namespace spscope
