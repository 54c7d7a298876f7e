// Published peaks of memory against what the program counts: the limits that docs/accuracy.md states.
#include "backend/fit/memory_row.h"

#include <gtest/gtest.h>

#include "backend/config/text_file.h"

namespace spscope {
namespace {

const std::string kRoot = SPSCOPE_SOURCE_DIR;

// At least 80 % of peaks, every run that ran out of memory, and the page says so.
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
