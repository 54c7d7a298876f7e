// Tables of any number of rows: the order that is asked for comes from a worker where there are many, and is that of
// sorted_rows() and filtered_rows().
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "backend/base/rng.h"
#include "gui/views/kept_table.h"

namespace spscope::gui {
namespace {

std::shared_ptr<const Table> numbers(std::size_t rows) {
  auto table = std::make_shared<Table>();
  table->columns = {text_column("number")};
  Rng rng(7);
  for (std::size_t r = 0; r < rows; ++r) {
    Cell cell = text_cell(std::to_string(rng.below(100'000)));
    cell.number = std::stod(cell.text);
    table->rows.push_back({{std::move(cell)}});
  }
  return table;
}

// Frames until no worker has anything to do.
void settle(Workers& workers) {
  while (workers.busy() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  workers.begin_frame();
}

TEST(KeptTable, FewRowsAreOrderedAtOnce) {
  Workers workers(1, [] {});
  KeptTable kept(numbers(500), workers);
  const std::vector<int> rows = kept.rows(0, true, "");
  EXPECT_EQ(workers.answered(), 0);
  EXPECT_EQ(rows, sorted_rows(*kept.table, filtered_rows(*kept.table, ""), 0, true));
  EXPECT_GE(kept.table->rows[static_cast<std::size_t>(rows[0])].cells[0].number,
            kept.table->rows[static_cast<std::size_t>(rows[1])].cells[0].number)
      << "numbers of SQL sort as numbers";
}

TEST(KeptTable, ManyRowsAreOrderedByAWorkerOnceForEachOrder) {
  Workers workers(1, [] {});
  workers.begin_frame();
  KeptTable kept(numbers(KeptTable::kManyRows + 1), workers);
  EXPECT_EQ(kept.rows(-1, false, "").size(), KeptTable::kManyRows + 1);
  for (int i = 0; i < 3; ++i) {
    kept.rows(0, false, "12");
    settle(workers);
  }
  EXPECT_EQ(kept.rows(0, false, "12"), sorted_rows(*kept.table, filtered_rows(*kept.table, "12"), 0, false));
  EXPECT_EQ(workers.answered(), 1);
  EXPECT_EQ(kept.rows(-1, false, "").back(), static_cast<int>(KeptTable::kManyRows)) << "as given";
}

TEST(KeptTable, ItsTextIsMadeByAWorkerAndTakenOnce) {
  Workers workers(1, [] {});
  workers.begin_frame();
  KeptTable kept(numbers(KeptTable::kManyRows + 1), workers);
  const std::vector<int> rows = {3, 1, 2};
  EXPECT_FALSE(kept.take_copied());
  kept.copy(rows, {0}, CopyFormat::kCsv);
  settle(workers);
  EXPECT_EQ(kept.take_copied(), copied_text(*kept.table, rows, {0}, CopyFormat::kCsv));
  EXPECT_FALSE(kept.take_copied());
}

}  // namespace
}  // namespace spscope::gui
