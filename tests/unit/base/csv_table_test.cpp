#include "backend/base/csv_table.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TEST(ParseCsv, ReadsQuotesCommasAndLineBreaks) {
  const Result<CsvTable> table = parse_csv("a,b\r\n\"x, \"\"y\"\"\nz\",2\n\n3,\n", "t.csv");
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->rows.size(), 2U);
  EXPECT_EQ(table->find(0, "a")->text, "x, \"y\"\nz");
  EXPECT_EQ(table->find(0, "b")->text, "2");
  EXPECT_EQ(table->find(1, "b")->text, "");
  EXPECT_EQ(table->find(1, "a")->place.line, 5);
  EXPECT_EQ(table->find(1, "c"), nullptr);
}

TEST(ParseCsv, NamesEveryRowOfAnotherWidth) {
  const Result<CsvTable> table = parse_csv("a,b\n1,2\n1\n1,2,3\n", "t.csv");
  ASSERT_FALSE(table.has_value());
  ASSERT_EQ(table.error().problems().size(), 2U);
  EXPECT_EQ(table.error().problems()[0].place.line, 3);
  EXPECT_EQ(table.error().problems()[1].place.line, 4);
}

TEST(ParseCsv, AQuoteThatIsNeverClosedIsAFault) { EXPECT_FALSE(parse_csv("a\n\"x\n", "t.csv").has_value()); }

}  // namespace
}  // namespace spscope
