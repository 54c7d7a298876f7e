#include "backend/report/query_table.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

TEST(QueryTable, NumbersStandRightAndHaveTheirNumber) {
  QueryResult result;
  result.columns = {"name", "ns", "share"};
  result.rows = {{"attend", "12", "0.30000000000000004"}, {std::nullopt, std::nullopt, "1e300"}};
  result.kinds = {{ValueKind::kText, ValueKind::kInteger, ValueKind::kReal},
                  {ValueKind::kNull, ValueKind::kNull, ValueKind::kReal}};
  const Table whole = query_table(result, ValueTexts::kWhole);
  EXPECT_TRUE(whole.columns[0].left && !whole.columns[1].left && !whole.columns[2].left);
  EXPECT_FALSE(whole.rows[0].cells[0].number);
  EXPECT_EQ(whole.rows[0].cells[1].number, 12);
  EXPECT_EQ(whole.rows[0].cells[2].text, "0.30000000000000004");
  EXPECT_EQ(whole.rows[1].cells[1].text, "NULL");
  EXPECT_FALSE(whole.rows[1].cells[1].number);
  EXPECT_EQ(whole.rows[1].cells[2].number, 1e300);
  EXPECT_EQ(query_table(result, ValueTexts::kShort).rows[0].cells[2].text, "0.3");
}

TEST(QueryTable, LongTextsAreCutForPeopleAlone) {
  QueryResult result;
  result.columns = {"text"};
  result.rows = {{std::string(1000, 'x')}};
  result.kinds = {{ValueKind::kText}};
  EXPECT_EQ(query_table(result, ValueTexts::kWhole).rows[0].cells[0].text.size(), 1000u);
  EXPECT_EQ(query_table(result, ValueTexts::kShort).rows[0].cells[0].text, std::string(400, 'x') + "... (1000 bytes)");
}

}  // namespace
}  // namespace spscope
