// Filters of rows against the sets that they describe.
#include "gui/views/timeline/row_filter.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backend/base/rng.h"

namespace spscope::gui {
namespace {

std::set<int> rows_of(const std::string& text) {
  const auto filter = parse_row_filter(text);
  std::set<int> rows;
  if (!filter) return {-1};
  for (int rank = 0; rank < 32; ++rank)
    if (filter->holds(rank, rank / 8)) rows.insert(rank);
  return rows;
}

TEST(RowFilter, HoldsWhatItNames) {
  EXPECT_EQ(rows_of("").size(), 32u);
  EXPECT_EQ(rows_of(" , ").size(), 32u);
  EXPECT_EQ(rows_of("3"), (std::set<int>{3}));
  EXPECT_EQ(rows_of("0-2,12"), (std::set<int>{0, 1, 2, 12}));
  EXPECT_EQ(rows_of(" rank 5 - 6 , 30"), (std::set<int>{5, 6, 30}));
  EXPECT_EQ(rows_of("node 1"), (std::set<int>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(rows_of("node 0-1,31").size(), 17u);
  EXPECT_EQ(rows_of("100"), std::set<int>{});
}

TEST(RowFilter, WhatIsNoneIsAnErrorThatNamesThePart) {
  for (const std::string text : {"x", "1,two", "5-3", "-4", "1-", "node", "node x", "1.5", "99999999999"}) {
    const auto filter = parse_row_filter(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_NE(std::string(filter.error().what()).find('"'), std::string::npos);
  }
}

TEST(RowFilter, AnyTextIsAFilterOrAnError) {
  Rng rng(3);
  const std::string letters = "0123456789-, nodek\t";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::int64_t n = rng.below(12); n > 0; --n)
      text += letters[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(letters.size())))];
    const auto filter = parse_row_filter(text);
    if (!filter) continue;
    for (const RowFilter::Range& range : filter->ranges) EXPECT_LE(range.first, range.last);
  }
}

}  // namespace
}  // namespace spscope::gui
