#include "backend/fit/timing_row.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/config/text_file.h"
#include "backend/fit/memory_row.h"
#include "backend/fit/row_config.h"

namespace spscope {
namespace {

constexpr std::string_view kHeader = "id,model,gpus,resolution,ulysses,ring,scope,value,unit\n";

Error fault_of(std::string_view row) {
  const Result<CsvTable> table = parse_csv(std::string(kHeader) + std::string(row), "mine.csv");
  if (!table) return table.error();
  const Result<std::vector<TimingRow>> rows = timing_rows(*table);
  EXPECT_FALSE(rows.has_value());
  return rows ? Error(ErrorCode::kInternal, "") : rows.error();
}

TEST(TimingRows, NamesFileLineAndColumnOfABadCell) {
  const Error error = fault_of("r1,wan2.1-t2v-14b,8,1280x720,8,1,e2e,fast,s\n");
  ASSERT_EQ(error.problems().size(), 1U);
  const Problem& problem = error.problems().front();
  EXPECT_EQ(problem.field, "value");
  EXPECT_EQ(problem.place.file, "mine.csv");
  EXPECT_EQ(problem.place.line, 2);
  EXPECT_EQ(problem.place.column, 38);
  EXPECT_FALSE(problem.hint.empty());
  EXPECT_EQ(fault_of("r1,wan2.1-t2v-14b,8,720p,8,1,e2e,9,s\n").problems().front().field, "resolution");
}

TEST(RowConfig, TokensAreThoseOfTheVaeAndThePatches) {
  TimingRow row;
  row.model = "CogVideoX1.5-5B";
  row.gpu = "H100/H800";
  row.interconnect = "NVLink/NVSwitch";
  row.width = 1360;
  row.height = 768;
  row.frames = 161;
  row.gpus = 8;
  row.ulysses = 4;
  row.cfg_parallel = 2;
  row.guidance_passes = 2;
  row.implementation = "eager";
  const std::vector<std::string> settings = settings_of(row_config(row));
  const auto has = [&](std::string_view text) { return std::ranges::find(settings, text) != settings.end(); };
  EXPECT_TRUE(has("model.grid=21,48,85"));
  EXPECT_TRUE(has("cluster.preset=h100x8"));
  EXPECT_TRUE(has("cluster.guidance=2"));
  EXPECT_TRUE(has("run.strategies=ulysses"));
  EXPECT_TRUE(has("model.passes_in_batch=1"));
  row.cfg_parallel = 1;  // the same ranks do both passes, as one batch of eager code
  const std::vector<std::string> batched = settings_of(row_config(row));
  EXPECT_NE(std::ranges::find(batched, "model.cfg=2"), batched.end());
  EXPECT_NE(std::ranges::find(batched, "model.passes_in_batch=2"), batched.end());
}

const std::string kRoot = SPSCOPE_SOURCE_DIR;

// Published peaks of memory against what the program counts, the limits that docs/accuracy.md states: at least 80 % of
// peaks, every run that ran out of memory, and the page says so.
TEST(MemoryRows, AreCountedAsTheyWerePublished) {
  const Result<std::vector<MemoryRow>> rows = read_memory_rows(kRoot + "/bench/measured/memory.csv");
  ASSERT_TRUE(rows) << rows.error().what();
  int peaks = 0, between = 0, ran_out = 0;
  for (const MemoryRow& row : *rows) {
    if (!row.run.left_out.empty()) continue;
    const CountedMemory memory = counted_memory(row);
    const bool good = as_counted(row, memory);
    (row.ran_out ? ran_out : peaks) += 1;
    if (!row.ran_out && good) ++between;
    EXPECT_TRUE(good || !row.ran_out) << row.run.id << ": " << verdict_text(memory.need);
  }
  EXPECT_GE(peaks, 80);
  EXPECT_GE(ran_out, 8);
  EXPECT_GE(between, 0.8 * peaks) << between << " of " << peaks;
  const Result<std::string> page = read_text_file(kRoot + "/docs/accuracy.md", 1 << 20);
  ASSERT_TRUE(page);
  EXPECT_NE(page->find(memory_section(*rows)), page->npos) << "fit_bench . --memory writes the section anew";
}

}  // namespace
}  // namespace spscope
