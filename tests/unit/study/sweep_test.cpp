// Sweeps: cells, the table over seeds, and going on from a table that is there.
#include "backend/study/sweep.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "backend/base/whole_file.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

const JobFlags kSmall{
    "",
    {"ring", "ulysses"},
    {"run.mode=simulate", "cluster.preset=a800x8", "model.heads=8", "model.head_dim=24", "run.layers=1"}};
constexpr std::int64_t kMemory = std::int64_t{1} << 30;
const std::atomic<bool> kNever = false;
const QuietRun kQuiet{"test", kNever};

std::vector<SweepAxis> two_axes() {
  return sweep_axes(std::vector<std::string>{"mask.density=0.2,0.4", "cluster.ranks=2,4"});
}

TEST(Sweep, AxesHaveValuesThatMayHoldCommas) {
  const auto axes = sweep_axes(std::vector<std::string>{"model.grid=1,2,3;4,5,6", "mask.seed=7"});
  EXPECT_THAT(axes[0].values, testing::ElementsAre("1,2,3", "4,5,6"));
  EXPECT_THAT(axes[1].values, testing::ElementsAre("7"));
  for (const char* wrong : {"mask.density", "mask.density=", "=1", "mask.density=1,,2", "mask.density=1,1"})
    EXPECT_THROW(sweep_axes(std::vector<std::string>{wrong}), Error) << wrong;
  EXPECT_THROW(sweep_axes(std::vector<std::string>{"mask.seed=1", "mask.seed=2"}), Error);
}

TEST(Sweep, OneSeedOfMasksThatAreNotDrawn) {
  const auto axes = sweep_axes(std::vector<std::string>{"mask.pattern=dense,sparge"});
  const auto cells = sweep_cells(kSmall, axes, 3, kMemory);
  EXPECT_EQ(cells[0].seeds, 1);
  EXPECT_EQ(cells[1].seeds, 3);
}

TEST(Sweep, RowsHoldMeanAndDeviationOverSeeds) {
  const auto axes = two_axes();
  const auto cells = sweep_cells(kSmall, axes, 3, kMemory);
  const SeededRuns runs = run_seeds(cells[3].job, 3, kQuiet);
  double sum = 0, squares = 0;
  for (const Comparison& c : runs.by_seed) sum += static_cast<double>(*c.strategies[0].makespan_ns);
  for (const Comparison& c : runs.by_seed)
    squares += std::pow(static_cast<double>(*c.strategies[0].makespan_ns) - sum / 3, 2);
  EXPECT_NE(*runs.by_seed[0].strategies[0].makespan_ns, *runs.by_seed[1].strategies[0].makespan_ns);
  EXPECT_EQ(static_cast<double>(*runs.together.strategies[0].makespan_ns), sum);
  SweepTable table(axes, "v");
  table.add(cells[3], runs);
  const std::string csv = table.csv(cells);
  EXPECT_THAT(csv, testing::StartsWith("mask.density,cluster.ranks,strategy,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  const std::string row = "0.4,4,ring,ring r4,ok,3," + std::to_string(std::llround(sum / 3)) + "," +
                          std::to_string(std::llround(std::sqrt(squares / 2))) + ",";
  EXPECT_THAT(csv, testing::HasSubstr(row));
}

TEST(Sweep, GoesOnFromItsOwnTableOnly) {
  const TemporaryFolder folder;
  const std::string path = folder / "sweep.csv";
  const auto axes = two_axes();
  const auto cells = sweep_cells(kSmall, axes, 1, kMemory);
  SweepTable table(axes, "v");
  table.add(cells[0], run_seeds(cells[0].job, 1, kQuiet));
  write_whole_file(path, table.csv(cells));

  SweepTable same(axes, "v"), newer(axes, "w");
  same.resume(path, cells);
  EXPECT_TRUE(same.has(cells[0]));
  EXPECT_FALSE(same.has(cells[1]));
  EXPECT_EQ(same.csv(cells), table.csv(cells));
  newer.resume(path, cells);
  EXPECT_FALSE(newer.has(cells[0]));
  const auto more_seeds = sweep_cells(kSmall, axes, 2, kMemory);
  SweepTable seeds(axes, "v");
  seeds.resume(path, more_seeds);
  EXPECT_FALSE(seeds.has(more_seeds[0]));

  const auto other = sweep_axes(std::vector<std::string>{"mask.seed=1"});
  SweepTable foreign(other, "v");
  EXPECT_THROW(foreign.resume(path, sweep_cells(kSmall, other, 1, kMemory)), Error);
  // A line that was cut is not taken for a row.
  std::ofstream(path) << table.csv(cells).substr(0, table.csv(cells).size() - 20);
  SweepTable cut(axes, "v");
  cut.resume(path, cells);
  EXPECT_FALSE(cut.has(cells[0]));
  // Nor are the rows of a cell that has lost one, or has one twice.
  const std::string whole = table.csv(cells), last = whole.substr(whole.rfind('\n', whole.size() - 2) + 1);
  for (const std::string& text : {whole.substr(0, whole.size() - last.size()), whole + last}) {
    std::ofstream(path) << text;
    SweepTable lost(axes, "v");
    lost.resume(path, cells);
    EXPECT_FALSE(lost.has(cells[0]));
  }
  // A row in the middle with a field too few, or a time that none is, is named by its line.
  std::string narrow = whole;
  narrow.erase(narrow.find(',', narrow.find('\n')), 1);
  const std::size_t time = whole.find(",ok,1,") + 6;
  for (const std::string& damaged : {narrow, std::string(whole).insert(time, "-"),
                                     std::string(whole).replace(time, whole.find(',', time) - time, "nan")}) {
    std::ofstream(path) << damaged;
    try {
      cut.resume(path, cells);
      ADD_FAILURE() << "a damaged row is read";
    } catch (const Error& error) {
      ASSERT_EQ(error.problems().size(), 1u);
      EXPECT_EQ(error.problems()[0].place.line, 2);
      EXPECT_THAT(error.problems()[0].hint, testing::HasSubstr("delete that line"));
    }
  }
}

TEST(Sweep, AFigureNamesWhatItsCellsHaveInCommon) {
  const auto axes = sweep_axes(std::vector<std::string>{"cluster.ranks=2,4"});
  const auto cells = sweep_cells(kSmall, axes, 1, kMemory);
  SweepTable table(axes, "v");
  for (const SweepCell& cell : cells) table.add(cell, run_seeds(cell.job, cell.seeds, kQuiet));
  const auto figures = table.figures(axes, cells);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_THAT(figures.begin()->second, testing::HasSubstr(">wan-mini, a800, attention</text>"));
}

TEST(Spread, IsMeanExtremesAndDeviation) {
  const Spread s = spread_of({1, 2, 6});
  EXPECT_DOUBLE_EQ(s.mean, 3);
  EXPECT_DOUBLE_EQ(s.least, 1);
  EXPECT_DOUBLE_EQ(s.most, 6);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(7.0));
  EXPECT_EQ(spread_of({4}).deviation, 0);
  EXPECT_EQ(spread_of({}).count, 0);
}

}  // namespace
}  // namespace spscope
