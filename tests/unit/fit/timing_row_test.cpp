#include "backend/fit/timing_row.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace spscope
