// Tables as text for other programs; and their order and filter.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend/base/rng.h"
#include "backend/report/format.h"
#include "gui/ui/table_view.h"

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

std::vector<int> all_of(const Table& table) {
  std::vector<int> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Table random_table(Rng& rng) {
  Table table = table_of({});
  for (std::int64_t r = rng.below(20); r >= 0; --r) {
    const auto number = [&] {
      return rng.below(5) == 0 ? std::nullopt : std::optional(static_cast<double>(rng.below(9)) * 1234.5);
    };
    table.rows.push_back(
        {{text_cell(std::string(static_cast<std::size_t>(rng.below(4)), 'a')), cell(Hint::kDuration, number()),
          cell(Hint::kBytes, number()), cell(Hint::kCount, number())}});
  }
  return table;
}

TEST(SortedRows, EqualInsertionSortWithMissingValuesLast) {
  Rng rng(5);
  for (int i = 0; i < 200; ++i) {
    const Table table = random_table(rng);
    for (int column = 0; column < 4; ++column)
      for (const bool descending : {false, true}) {
        const auto missing = [&](int row) {
          const Cell& c = table.rows[static_cast<std::size_t>(row)].cells[static_cast<std::size_t>(column)];
          return column == 0 ? c.text.empty() : !c.number;
        };
        const auto first = [&](int a, int b) {
          if (missing(a) || missing(b)) return !missing(a) && missing(b);
          const Cell &x = table.rows[static_cast<std::size_t>(a)].cells[static_cast<std::size_t>(column)],
                     &y = table.rows[static_cast<std::size_t>(b)].cells[static_cast<std::size_t>(column)];
          if (column == 0) return descending ? y.text < x.text : x.text < y.text;
          return descending ? *y.number < *x.number : *x.number < *y.number;
        };
        std::vector<int> expected;
        for (const int row : all_of(table)) {
          auto at = expected.end();
          while (at != expected.begin() && first(row, *(at - 1))) --at;
          expected.insert(at, row);
        }
        ASSERT_EQ(sorted_rows(table, all_of(table), column, descending), expected);
      }
  }
}

TEST(FilteredRows, HaveEachWordInSomeCellWhateverTheCase) {
  Table table;
  table.columns = {text_column("name"), number_column("count", "", 0)};
  for (const auto& [name, count] : {std::pair{"Exchange KV", 12}, {"exchange q", 7}, {"attend", 12}, {"", 3}})
    table.rows.push_back({{text_cell(name), cell(Hint::kCount, count)}});
  EXPECT_EQ(filtered_rows(table, ""), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(filtered_rows(table, "  "), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(filtered_rows(table, "EXCH"), (std::vector<int>{0, 1}));
  EXPECT_EQ(filtered_rows(table, "12 exchange"), (std::vector<int>{0}));
  EXPECT_EQ(filtered_rows(table, "12"), (std::vector<int>{0, 2}));
  EXPECT_EQ(filtered_rows(table, "none of them"), std::vector<int>{});
}

}  // namespace
}  // namespace spscope::gui
