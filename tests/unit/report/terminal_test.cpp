#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "backend/analysis/ratio_error.h"
#include "backend/base/number_text.h"
#include "backend/report/format.h"
#include "backend/report/render.h"
#include "backend/report/section.h"
#include "tests/support/golden_file.h"
#include "tests/unit/report/sample_comparison.h"
#include "tests/unit/report/text_search.h"

namespace spscope {
namespace {

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, display_width(line));
  return width;
}

// With the line breaks of paragraphs as blanks.
std::string unbroken(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// The sample has several nodes.
std::string error_of_nodes() { return percent_text(ratio_error(MachineKind::kNodes).median); }

TEST(Terminal, ShowsWhoWinsWhyAndHowFarItCanBeTrusted) {
  expect_golden("report/projected.txt", render_terminal(sample_comparison()));
}

TEST(Terminal, FitsItsWidthByDroppingColumnsThatMatterLeast) {
  for (int width : {140, 120, 100, 80, 70}) {
    const std::string text = render_terminal(make_section("summary", {sample_comparison()}), {false, width});
    EXPECT_LE(widest_line(text), width);
    EXPECT_NE(text.find("makespan"), std::string::npos);
    for (const char* part : {"imbalance", "slowest", "rank 2"})
      EXPECT_TRUE(width < 80 || has(text, part)) << part << ": which rank is slow stays";
    EXPECT_EQ(has(text, "add up to the makespan"), width > 120) << "a sentence about columns that are not there";
    EXPECT_NE(text.find("ok 3.0e-06"), std::string::npos) << "the check never goes";
  }
  Comparison c = sample_comparison();
  c.strategies[2].label = "dbsp u2 r2 reward=0 refine " + std::string(80, 'x');
  for (int width : {120, 80})
    EXPECT_LE(widest_line(render_terminal(make_section("summary", {c}), {false, width})), width) << "of a long name";
}

TEST(Terminal, SaysWhereEndToEndIsOfAttentionAlone) {
  const std::string said = "End to end is of attention alone";
  Comparison c = sample_comparison();
  const auto summary = [&](int width) { return render_terminal(make_section("summary", {c}), {false, width}); };
  EXPECT_TRUE(has(summary(140), said));
  EXPECT_FALSE(has(summary(70), said)) << "a sentence about a column that is not there";
  EXPECT_TRUE(has(render_markdown(make_report(std::vector{c})), said));
  c.workload.scope = "layer";
  EXPECT_FALSE(has(summary(140), said));
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
  EXPECT_TRUE(
      has(unbroken(text),
          fmt::format("ring r4 is fastest (unmeasured); within {}, which the model cannot tell apart: ulysses u4.",
                      error_of_nodes())));
  EXPECT_FALSE(c.strategies[2].speedup.has_value());
}

TEST(Terminal, TimesWithinTheirSpreadHaveNoWinner) {
  Comparison c = sample_comparison();
  c.strategies[2].makespan_ns = *c.strategies[1].makespan_ns - 400'000;  // the spread of ring is 500 us
  for (StrategyResult& s : c.strategies) s.mode = RunMode::kExecute;
  EXPECT_TRUE(has(unbroken(render_terminal(c)),
                  "Measured, usp u2 r2 is fastest; equally fast within the spread of the repeats: ring r4."));
}

TEST(Terminal, ModelsDoNotTellSmallDifferencesApart) {
  Comparison c = sample_comparison();
  const double error = ratio_error(MachineKind::kNodes).median;
  const auto slower_by = [&](double part) {
    c.strategies[2].makespan_ns = std::llround(static_cast<double>(*c.strategies[1].makespan_ns) / (1 + part));
  };
  slower_by(0.95 * error);
  EXPECT_TRUE(
      has(unbroken(render_terminal(c)),
          fmt::format("With compute measured and the network modelled, usp u2 r2 is fastest (unmeasured); within "
                      "{}, which the model cannot tell apart: ring r4.",
                      error_of_nodes())));
  for (StrategyResult& s : c.strategies) s.mode = RunMode::kSimulate;
  EXPECT_TRUE(
      has(unbroken(render_terminal(c)), "By the model, usp u2 r2 is fastest (unmeasured); within " + error_of_nodes()));
  EXPECT_TRUE(has(unbroken(render_terminal(c)), fmt::format("Differences below {} are not ranked (nodes): {}",
                                                            error_of_nodes(), ratio_error(MachineKind::kNodes).from)));
  EXPECT_FALSE(has(render_terminal(c), "spread of the repeats"));
  slower_by(error + 0.05);
  EXPECT_TRUE(
      has(render_terminal(c), fmt::format("By the model, usp u2 r2 is fastest (unmeasured), {} ahead of ring r4.",
                                          percent_text(error + 0.05))));
  EXPECT_TRUE(has(unbroken(render_terminal(c)), "Unmeasured: no measurement of sparse attention on several GPUs"));
}

TEST(Terminal, LargeLeadsAreFactors) {
  Comparison c = sample_comparison();
  c.strategies[2].makespan_ns = *c.strategies[1].makespan_ns / 15;
  EXPECT_TRUE(
      has(unbroken(render_terminal(c)), "usp u2 r2 is fastest (unmeasured): ring r4 takes 15.0 times as long."));
}

TEST(Terminal, NoWinnerWhileANamedStrategyIsRefused) {
  Comparison c = sample_comparison();
  EXPECT_TRUE(has(render_terminal(c), "* usp u2 r2"));
  c.strategies.back().pick.reset();
  const std::string text = unbroken(render_terminal(c));
  EXPECT_TRUE(has(text, "No winner is named, since ulysses u16 was asked for and cannot run. With compute measured"));
  EXPECT_TRUE(has(text, "usp u2 r2 is the fastest of the others"));
  EXPECT_FALSE(has(text, "* usp u2 r2"));
}

TEST(Terminal, ComputeOfAGpuIsCalledByItsName) {
  Comparison c = sample_comparison();
  c.machine = {{"CUDA driver", "13.0"},
               {"GPU 0", "Example GPU, compute capability 9.0, 132 SMs, 80.0 GiB, 0000:01:00.0"},
               {"GPU 1", "Example GPU, compute capability 9.0, 132 SMs, 80.0 GiB, 0000:02:00.0"}};
  for (StrategyResult& s : c.strategies) {
    s.device = "cuda";
    if (s.legal()) s.compute_scale = 347;
  }
  const std::string text = unbroken(render_terminal(c));
  EXPECT_TRUE(has(text, "compute measured on Example GPU, network scheduled"));
  EXPECT_TRUE(has(text, "compute is this Example GPU's, about 350x slower"));
  EXPECT_TRUE(has(text, "With this Example GPU's compute"));
  for (StrategyResult& s : c.strategies) {
    s.mode = RunMode::kExecute;
    s.compute_scale.reset();
    s.provenance = RunProvenance{Source::kMeasured, Source::kMeasured, Timing::kOversubscribed};
  }
  const std::string executed = unbroken(render_terminal(c));
  EXPECT_TRUE(has(executed, "executed on Example GPU ranks"));
  EXPECT_TRUE(has(executed, "Timing is oversubscribed: the ranks share fewer GPUs"));
}

TEST(Terminal, ComputeOfAnotherMachineNamesNoWinnerForTheCluster) {
  Comparison c = sample_comparison();
  const auto scale = [&](double by) {
    for (StrategyResult& s : c.strategies)
      if (s.legal()) s.compute_scale = by;
  };
  scale(347);
  const std::string text = render_terminal(c);
  EXPECT_TRUE(has(unbroken(text),
                  "compute is this CPU's, about 350x slower than the cost model of a800: communication "
                  "counts for too little; run.mode = \"simulate\" models both"));
  EXPECT_TRUE(has(text, "With this CPU's compute, usp u2 r2 is fastest (unmeasured), 25 % ahead of ring r4"));
  EXPECT_FALSE(has(text, "modelled, usp"));
  scale(0.31);
  EXPECT_TRUE(has(unbroken(render_terminal(c)),
                  "about 3.2x faster than the cost model of a800: communication counts for too "
                  "much;"));
  scale(1.4);
  EXPECT_TRUE(has(render_terminal(c), "With compute measured and the network modelled, usp u2 r2 is fastest"));
}

TEST(Terminal, DisturbedTimesNameNoWinnerAndNoReason) {
  Comparison c = sample_comparison();
  c.strategies[1].compute_deviation = 1.8;
  const std::string text = unbroken(render_terminal(c));
  EXPECT_TRUE(has(text, "Other programs disturbed this: run it again."));
  EXPECT_TRUE(has(text, "a rank of ring r4 took 180 % of the mean more or less than its tiles"));
  for (const char* claim : {"waits", "fastest", "balanced"}) EXPECT_FALSE(has(text, claim)) << claim;
}

TEST(Terminal, AnInterruptedRunSaysHowMuchOfItThereIs) {
  Comparison c = sample_comparison();
  c.workload.layers = 40;
  c.workload.denoise_steps = 50;
  c.workload.layer_passes_done = 15;
  const std::string text = unbroken(render_terminal(c));
  EXPECT_TRUE(has(text, "15 of 2,000 layer passes, 4 x a800"));
  EXPECT_TRUE(has(text, "interrupted: of 40 layers x 50 denoise steps the file holds 15 of 2,000 layer passes"));
  EXPECT_FALSE(has(text, "all 40 layers"));
  EXPECT_TRUE(has(text, "sums over 15 layer passes (a layer pass is one layer at one denoise step)"));
  EXPECT_FALSE(has(unbroken(render_terminal(sample_comparison())), "sums over"));
  c.workload.layer_passes_done = 2000;
  EXPECT_TRUE(has(render_terminal(c), "all 40 layers x 50 denoise steps"));
}

TEST(Terminal, ARunThatFinishedNoLayerHasEventsAndNoTable) {
  Comparison c = sample_comparison();
  c.workload.layer_passes_done = 0;
  c.recording.events_sent = c.recording.events_stored = 12'345;
  const std::string text = unbroken(render_terminal(c));
  EXPECT_TRUE(
      has(text, "no layer was finished by every strategy, so there is nothing to compare; 12,345 events are kept"));
  EXPECT_FALSE(has(text, "makespan"));
  EXPECT_TRUE(has(render_json(std::vector{c}), "12,345 events are kept"));
  c.workload.layer_passes_done = 1;
  EXPECT_TRUE(has(render_json(std::vector{c}), "\"nothing_finished\": null"));
}

TEST(Terminal, SeveralLayersNameARankOnlyWhenItIsSlowestInMost) {
  constexpr TerminalStyle kWide{false, 160};
  Comparison c = sample_comparison();
  auto& layers = c.strategies[0].by_layer;
  layers.resize(4, layers[0]);
  const int ranks[] = {0, 3, 3, 1};
  for (std::size_t i = 0; i < 4; ++i) layers[i].slowest_rank = ranks[i], layers[i].slowest_excess = 0.1 * (i + 1.0);
  c.strategies[0].waited_for_ns = {14'000'000, 0, 14'000'000, 14'000'000};
  EXPECT_TRUE(has(unbroken(render_terminal(c)),
                  "ulysses u4 takes 14.2 ms longer: 13.1 ms of it waiting for the slowest rank of each layer pass, on "
                  "average 25 % above the mean."));
  EXPECT_TRUE(has(render_terminal(c, kWide), "varies"));
  layers[3].slowest_rank = 3;
  EXPECT_FALSE(has(render_terminal(c, kWide), "varies"));
}

TEST(Terminal, UnevenHeadsAreNoted) {
  Comparison c = sample_comparison();
  c.workload.heads = 12;
  c.strategies[0].meshes[0].ulysses = 8;
  EXPECT_TRUE(has(unbroken(render_terminal(c)),
                  "ulysses u4: 12 heads on 8 ranks: 4 ranks hold 2 and 4 hold 1; implementations that need equal "
                  "shares refuse this."));
  EXPECT_FALSE(has(render_terminal(c), "on 2 ranks:")) << "usp divides them evenly";
}

TEST(Terminal, ColourIsOnlyThereWhenAsked) {
  EXPECT_EQ(render_terminal(sample_comparison()).find('\033'), std::string::npos);
  EXPECT_NE(render_terminal(sample_comparison(), {true, 120}).find('\033'), std::string::npos);
}

TEST(Terminal, EscapeSequencesOfAFileDoNotReachTheTerminal) {
  Comparison c = sample_comparison();
  c.workload.model = "evil\033]0;title\007";
  c.strategies[0].label = "a\033[2Jb\xc2\x9b";
  c.strategies[3].problems[0].message = "\033[31mred";
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
