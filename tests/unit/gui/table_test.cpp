// Tables as text for other programs, read back by readers of their own; and their order and filter.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backend/base/rng.h"
#include "backend/report/format.h"
#include "gui/ui/table_view.h"

namespace spscope::gui {
namespace {

using Lines = std::vector<std::vector<std::string>>;

// RFC 4180.
Lines read_csv(const std::string& text) {
  Lines lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = lines.back().back();
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      lines.back().emplace_back();
    } else if (c == '\n') {
      lines.emplace_back(1);
    } else {
      field += c;
    }
  }
  lines.pop_back();
  return lines;
}

Lines read_separated(const std::string& text, const std::string& separator) {
  Lines lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    lines.emplace_back();
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t next = line.find(separator, at);
      lines.back().push_back(line.substr(at, next == std::string::npos ? next : next - at));
      at = next == std::string::npos ? next : next + separator.size();
    }
  }
  return lines;
}

std::string odd_text(Rng& rng) {
  static const char* const kOdd[] = {"a", "b", "\"", ",", "|", "\n", "\t", "ä", "#", "=1+1", " ", "\\"};
  std::string text;
  for (std::int64_t i = rng.below(6); i > 0; --i) text += kOdd[rng.below(std::ssize(kOdd))];
  return text;
}

Table random_table(Rng& rng) {
  Table table;
  table.columns = {text_column("name"), number_column("time", "", 0), number_column("size", "", 0),
                   number_column("count", "", 0)};
  for (std::int64_t r = rng.below(20); r >= 0; --r) {
    const auto number = [&]() -> std::optional<double> {
      return rng.below(5) == 0 ? std::nullopt : std::optional(static_cast<double>(rng.below(1000)) * 1234.5);
    };
    table.rows.push_back({{text_cell(odd_text(rng)), cell(Hint::kDuration, number()), cell(Hint::kBytes, number()),
                           cell(Hint::kCount, number())}});
  }
  return table;
}

std::vector<int> all_of(const Table& table) {
  std::vector<int> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}
const std::vector<int> kAllColumns = {0, 1, 2, 3};

TEST(CopiedText, CsvHasExactNumbersInBaseUnits) {
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    const Table table = random_table(rng);
    const Lines lines = read_csv(copied_text(table, all_of(table), kAllColumns, CopyFormat::kCsv));
    ASSERT_EQ(lines.size(), table.rows.size() + 1);
    EXPECT_EQ(lines[0], (std::vector<std::string>{"name", "time_ns", "size_bytes", "count"}));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      ASSERT_EQ(lines[r + 1].size(), 4u);
      EXPECT_EQ(lines[r + 1][0], table.rows[r].cells[0].text);
      for (std::size_t c = 1; c < 4; ++c) {
        const auto& number = table.rows[r].cells[c].number;
        EXPECT_EQ(lines[r + 1][c].empty(), !number.has_value());
        if (number) {
          EXPECT_EQ(std::stod(lines[r + 1][c]), *number);
        }
      }
    }
  }
}

TEST(CopiedText, JsonHasExactNumbersAndNulls) {
  Rng rng(2);
  for (int i = 0; i < 100; ++i) {
    const Table table = random_table(rng);
    const auto read = nlohmann::json::parse(copied_text(table, all_of(table), kAllColumns, CopyFormat::kJson));
    ASSERT_EQ(read.size(), table.rows.size());
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const auto& cells = table.rows[r].cells;
      EXPECT_EQ(read[r]["name"].get<std::string>(), cells[0].text);
      const char* const names[] = {"time_ns", "size_bytes", "count"};
      for (std::size_t c = 1; c < 4; ++c) {
        ASSERT_EQ(read[r][names[c - 1]].is_null(), !cells[c].number.has_value());
        if (cells[c].number) {
          EXPECT_EQ(read[r][names[c - 1]].get<double>(), *cells[c].number);
        }
      }
    }
  }
}

TEST(CopiedText, TsvAndMarkdownSayWhatIsShown) {
  Rng rng(3);
  for (int i = 0; i < 100; ++i) {
    const Table table = random_table(rng);
    const Lines tsv = read_separated(copied_text(table, all_of(table), kAllColumns, CopyFormat::kTsv), "\t");
    ASSERT_EQ(tsv.size(), table.rows.size() + 1);
    std::string text = copied_text(table, all_of(table), kAllColumns, CopyFormat::kMarkdown);
    for (std::size_t at = 0; (at = text.find("\\|", at)) != std::string::npos;) text.replace(at, 2, "\x01");
    const Lines markdown = read_separated(text, "|");
    ASSERT_EQ(markdown.size(), table.rows.size() + 2);
    EXPECT_EQ(markdown[1], (std::vector<std::string>{"", " --- ", " ---: ", " ---: ", " ---: ", ""}));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      ASSERT_EQ(tsv[r + 1].size(), 4u);
      ASSERT_EQ(markdown[r + 2].size(), 6u);
      for (std::size_t c = 0; c < 4; ++c) {
        std::string shown = joined(cell_text(table.rows[r].cells[c])), in_markdown = shown;
        std::ranges::replace(in_markdown, '|', '\x01');
        std::ranges::replace(in_markdown, '\n', ' ');
        EXPECT_EQ(markdown[r + 2][c + 1], " " + in_markdown + " ");
        std::ranges::replace(shown, '\t', ' ');
        std::ranges::replace(shown, '\n', ' ');
        EXPECT_EQ(tsv[r + 1][c], shown);
      }
    }
  }
}

TEST(CopiedText, TakesTheRowsAndColumnsInTheirOrder) {
  Rng rng(4);
  Table table;
  while (table.rows.size() < 5) table = random_table(rng);
  const auto read = nlohmann::json::parse(copied_text(table, {3, 1}, {3, 0}, CopyFormat::kJson));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].size(), 2u);
  EXPECT_EQ(read[0]["name"].get<std::string>(), table.rows[3].cells[0].text);
  EXPECT_EQ(read[1]["name"].get<std::string>(), table.rows[1].cells[0].text);
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
