#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "backend/analysis/ratio_error.h"
#include "backend/base/number_text.h"
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

// What the text of a comparison says, and what it does not, whatever the breaks of its lines.
void expect_said(const Comparison& c, const std::vector<std::string>& said,
                 const std::vector<std::string>& not_said = {}) {
  expect_parts(unbroken(render_terminal(c)), said, not_said);
}

// The sample has several nodes.
std::string error_of_nodes() { return percent_text(ratio_error(MachineKind::kNodes, 8).median); }

TEST(Terminal, ShowsWhoWinsWhyAndHowFarItCanBeTrusted) {
  expect_golden("report/projected.txt", render_terminal(sample_comparison()));
}

TEST(Terminal, FitsItsWidthByDroppingColumnsThatMatterLeast) {
  Comparison c = sample_comparison();
  const auto summary = [&](int width) { return render_terminal(make_section("summary", {c}), {false, width, width}); };
  for (int width : {140, 120, 100, 80, 70}) {
    const std::string text = summary(width);
    EXPECT_LE(widest_line(text), width);
    EXPECT_TRUE(has(text, "makespan"));
    for (const char* part : {"imbalance", "slowest", "rank 2"})
      EXPECT_TRUE(width < 80 || has(text, part)) << part << ": which rank is slow stays";
    EXPECT_EQ(has(text, "add up to the makespan"), width > 120) << "a sentence about columns that are not there";
    EXPECT_EQ(has(text, "End to end counts attention only"), has(text, "  end to end")) << width;
    EXPECT_TRUE(has(text, "ok 3.0e-06")) << "the check never goes";
  }
  c.workload.scope = "layer";
  EXPECT_FALSE(has(summary(140), "of attention alone"));
  c.strategies[2].label = "dbsp u2 r2 reward=0 refine " + std::string(79, 'x');
  for (int width : {120, 80}) EXPECT_LE(widest_line(summary(width)), width) << "of a long name";
}

TEST(Terminal, APlanShowsWhatNeedsNoRun) {
  Comparison c = sample_comparison();
  for (StrategyResult& s : c.strategies) {
    s.provenance.reset();
    s.makespan_ns = s.makespan_spread_ns = s.attention_ns = s.end_to_end_ns = std::nullopt;
    s.times = {};
    s.verify = "skipped";
    s.max_error.reset();
  }
  set_speedups(c.strategies);
  expect_said(c,
              {"usp u2 r2 is balanced best: 1.8 % above an even spread when ranks wait only for what they need.",
               "ulysses u4 sends least: 339 MB a rank.", "774 MiB   1.23 ms"},
              {"makespan", "end to end", "check", "fastest"});
  c.strategies.resize(1);
  expect_said(c, {"ulysses u4"}, {"balanced best", "sends least"});
}

TEST(Terminal, AWrongResultIsNamedAndCannotWin) {
  Comparison c = sample_comparison();
  c.strategies[2].verify = "failed";
  c.strategies[2].max_error = 0.31;
  set_speedups(c.strategies);
  expect_said(c, {"usp u2 r2 computed a wrong result; its times mean nothing.", "WRONG 3.1e-01",
                  "ring r4 is fastest (predicted). Too close to call: ulysses u4 is slower by less than " +
                      error_of_nodes() + " of the attention."});
  EXPECT_FALSE(c.strategies[2].speedup.has_value());
}

TEST(Terminal, TimesWithinTheirSpreadHaveNoWinner) {
  Comparison c = sample_comparison();
  c.strategies[2].makespan_ns = *c.strategies[1].makespan_ns - 400'000;  // the spread of ring is 500 us
  for (StrategyResult& s : c.strategies) s.mode = RunMode::kExecute;
  expect_said(c, {"Measured, usp u2 r2 is fastest; equally fast within the spread of the repeats: ring r4."});
}

TEST(Terminal, ModelsDoNotTellSmallDifferencesApart) {
  Comparison c = sample_comparison();
  const double error = ratio_error(MachineKind::kNodes, 8).median;
  const auto slower_by = [&](double part) {
    c.strategies[2].makespan_ns = std::llround(static_cast<double>(*c.strategies[1].makespan_ns) / (1 + part));
  };
  slower_by(0.95 * error);
  const std::string fastest = "usp u2 r2 is fastest (predicted). Too close to call: ring r4 is slower by less than " +
                              error_of_nodes() + " of the attention.";
  expect_said(c, {"With compute measured and the network modelled, " + fastest});
  for (StrategyResult& s : c.strategies) s.mode = RunMode::kSimulate;
  expect_said(
      c,
      {"By the model, " + fastest, error_of_nodes() + " is " + std::string(ratio_error(MachineKind::kNodes, 8).from)},
      {"spread of the repeats", "with the fastest network"});
  Comparison range = c;
  range.strategies[0].makespan_low_ns = 40'000'000, range.strategies[0].makespan_high_ns = 61'200'000;
  expect_said(range, {fastest + " On hosts with the fastest network ulysses u4 is fastest, with 40.0 ms."});
  EXPECT_TRUE(has(render_terminal(range, {false, 220}), "sent/rank")) << "beside a range, where there is room";
  slower_by(error + 0.05);
  expect_said(c,
              {"By the model, usp u2 r2 is fastest (predicted), " + percent_text(error + 0.05) + " ahead of ring r4.",
               "This ranking is a prediction: only db-SP has compared strategies"});
  range = c;
  range.strategies[1].makespan_low_ns = range.strategies[1].makespan_ns, range.strategies[1].makespan_high_ns = 1;
  expect_said(range, {"usp u2 r2 is fastest (predicted) with the usual network. On a slow one ring r4 is."},
              {"ring r4 is 1"});
  slower_by(14);
  expect_said(c, {"usp u2 r2 is fastest (predicted): ring r4 takes 15.0 times as long."});
}

void scale_compute(Comparison& c, double by) {
  for (StrategyResult& s : c.strategies)
    if (s.legal()) s.compute_scale = by;
}

TEST(Terminal, ComputeOfAGpuIsCalledByItsName) {
  Comparison c = sample_comparison();
  c.machine = {{"CUDA driver", "13.0"},
               {"GPU 0", "Example GPU, compute capability 9.0, 132 SMs, 80.0 GiB, 0000:01:00.0"},
               {"GPU 1", "Example GPU, compute capability 9.0, 132 SMs, 80.0 GiB, 0000:02:00.0"}};
  for (StrategyResult& s : c.strategies) s.device = "cuda";
  scale_compute(c, 347);
  expect_said(c, {"compute measured on Example GPU, network scheduled",
                  "compute was timed on this Example GPU, about 350x slower", "With this Example GPU's compute"});
  for (StrategyResult& s : c.strategies) {
    s.mode = RunMode::kExecute;
    s.compute_scale.reset();
    s.provenance = RunProvenance{Source::kMeasured, Source::kMeasured, Timing::kOversubscribed};
  }
  expect_said(c, {"executed on Example GPU ranks", "This machine has fewer GPUs than ranks"});
}

TEST(Terminal, ComputeOfAnotherMachineNamesNoWinnerForTheCluster) {
  Comparison c = sample_comparison();
  scale_compute(c, 347);
  expect_said(
      c,
      {"compute was timed on this CPU, about 350x slower than the cost model of a800, so communication looks too "
       "cheap; run.mode = \"simulate\" models both",
       "With this CPU's compute, usp u2 r2 is fastest (predicted), 25 % ahead of ring r4"},
      {"modelled, usp"});
  scale_compute(c, 0.31);
  expect_said(c, {"about 3.2x faster than the cost model of a800, so communication looks too expensive;"});
  scale_compute(c, 1.4);
  expect_said(c, {"With compute measured and the network modelled, usp u2 r2 is fastest"});
}

TEST(Terminal, DisturbedTimesNameNoWinnerAndNoReason) {
  Comparison c = sample_comparison();
  c.strategies[1].compute_deviation = 1.8;
  expect_said(c,
              {"The machine was busy, so no winner is named: a rank of ring r4 was 180 % off the time its "
               "work should take (limit 25 %). Run it again."},
              {"waits", "fastest", "balanced"});
}

TEST(Terminal, AnInterruptedRunSaysHowMuchOfItThereIs) {
  Comparison c = sample_comparison();
  expect_said(c, {}, {"sums over"});
  c.workload.layers = 40;
  c.workload.denoise_steps = 50;
  c.workload.layer_passes_done = 15;
  expect_said(
      c,
      {"15 of 2,000 layer passes, 4 x a800", "interrupted after 15 of 2,000 layer passes, and figures cover only those",
       "sums over 15 layer passes (a layer pass is one layer at one denoise step)"},
      {"all 40 layers"});
  c.workload.layer_passes_done = 2000;
  expect_said(c, {"all 40 layers x 50 denoise steps"});
}

TEST(Terminal, SeveralLayersNameARankOnlyWhenItIsSlowestInMost) {
  constexpr TerminalStyle kWide{false, 160};
  Comparison c = sample_comparison();
  auto& layers = c.strategies[0].by_layer;
  layers.resize(4, layers[0]);
  const int ranks[] = {0, 3, 3, 1};
  for (std::size_t i = 0; i < 4; ++i) layers[i].slowest_rank = ranks[i], layers[i].slowest_excess = 0.1 * (i + 1.0);
  c.strategies[0].waited_for_ns = {14'000'000, 0, 14'000'000, 14'000'000};
  expect_said(c,
              {"ulysses u4 is 14.2 ms slower: its ranks wait 13.8 ms on average for the busiest one, against 675 us in "
               "usp u2 r2. That rank computes 25 % longer than the mean."});
  EXPECT_TRUE(has(render_terminal(c, kWide), "varies"));
  layers[3].slowest_rank = 3;
  EXPECT_FALSE(has(render_terminal(c, kWide), "varies"));
}

TEST(Terminal, UnevenHeadsAreNoted) {
  Comparison c = sample_comparison();
  c.workload.heads = 12;
  c.strategies[0].meshes[0].ulysses = 8;
  expect_said(
      c, {"ulysses u4 gives 4 ranks 2 of the 12 heads and 4 ranks 1, which engines that need equal shares refuse."},
      {"usp u2 r2 gives"});  // usp divides them evenly
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
  expect_said(c, {"executed strategy", "projected strategy"});
}

}  // namespace
}  // namespace spscope
