// Tables as text for other programs; their order and filter, which comes from a worker where rows are many.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

#include "backend/base/rng.h"
#include "gui/ui/table_view.h"
#include "gui/views/kept_table.h"

namespace spscope::gui {
namespace {

Table table_of(std::initializer_list<std::pair<std::string, std::optional<double>>> rows) {
  Table table;
  table.columns = {text_column("name"), number_column("time", "", 0), number_column("size", "", 0),
                   number_column("count", "", 0)};
  for (const auto& [name, number] : rows)
    table.rows.push_back(
        {{text_cell(name), cell(Hint::kDuration, number), cell(Hint::kBytes, number), cell(Hint::kCount, number)}});
  return table;
}

const std::vector<int> kAllColumns = {0, 1, 2, 3};

// What has a meaning in a form is quoted there, and nowhere else. Numbers are exact in CSV and JSON, else as shown.
TEST(CopiedText, HasWhatTheFormTakes) {
  const Table table = table_of({{"a \"b\", c|d\te\\", 1'234'500}, {"=1+1\nä #", std::nullopt}});
  const auto copied = [&](CopyFormat format) { return copied_text(table, {0, 1}, kAllColumns, format); };
  EXPECT_EQ(
      copied(CopyFormat::kCsv),
      "name,time_ns,size_bytes,count\n\"a \"\"b\"\", c|d\te\\\",1234500.0,1234500.0,1234500.0\n\"=1+1\nä #\",,,\n");
  EXPECT_EQ(copied(CopyFormat::kTsv),
            "name\ttime\tsize\tcount\na \"b\", c|d e\\\t1.23 ms\t1.23 MB\t1,234,500\n=1+1 ä #\t–\t–\t–\n");
  EXPECT_EQ(copied(CopyFormat::kMarkdown),
            "| name | time | size | count |\n| --- | ---: | ---: | ---: |\n"
            "| a \"b\", c\\|d\te\\ | 1.23 ms | 1.23 MB | 1,234,500 |\n| =1+1 ä # | – | – | – |\n");
  const auto read = nlohmann::json::parse(copied(CopyFormat::kJson));
  EXPECT_EQ(
      read,
      (nlohmann::json{
          {{"name", table.rows[0].cells[0].text},
           {"time_ns", 1'234'500},
           {"size_bytes", 1'234'500},
           {"count", 1'234'500}},
          {{"name", table.rows[1].cells[0].text}, {"time_ns", nullptr}, {"size_bytes", nullptr}, {"count", nullptr}}}));
}

TEST(CopiedText, TakesTheRowsAndColumnsInTheirOrder) {
  const Table table = table_of({{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}});
  EXPECT_EQ(copied_text(table, {3, 1}, {3, 0}, CopyFormat::kCsv), "count,name\n4.0,d\n2.0,b\n");
}

// Texts and numbers in their order, equal ones as they were given, missing ones last whichever way it goes.
TEST(SortedRows, AreInOrderWithMissingValuesLast) {
  const Table table = table_of({{"b", 2}, {"", 10}, {"a", std::nullopt}, {"b", 9}, {"c", 2}, {"", std::nullopt}});
  struct Case {
    int column;
    bool descending;
    std::vector<int> order;
  };
  for (const Case& c : {Case{0, false, {2, 0, 3, 4, 1, 5}},
                        {0, true, {4, 0, 3, 2, 1, 5}},
                        {1, false, {0, 4, 3, 1, 2, 5}},
                        {1, true, {1, 3, 0, 4, 2, 5}},
                        {3, true, {1, 3, 0, 4, 2, 5}}})
    EXPECT_EQ(sorted_rows(table, {0, 1, 2, 3, 4, 5}, c.column, c.descending), c.order) << c.column << c.descending;
}

TEST(FilteredRows, HaveEachWordInSomeCellWhateverTheCase) {
  const Table table = table_of({{"Exchange KV", 12}, {"exchange q", 7}, {"attend", 12}, {"", 3}});
  const std::pair<const char*, std::vector<int>> cases[] = {{"", {0, 1, 2, 3}}, {"  ", {0, 1, 2, 3}},
                                                            {"EXCH", {0, 1}},   {"12 exchange", {0}},
                                                            {"12", {0, 2}},     {"none of them", {}}};
  for (const auto& [words, rows] : cases) EXPECT_EQ(filtered_rows(table, words), rows) << words;
}

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
