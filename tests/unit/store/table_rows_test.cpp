#include "backend/store/sqlite/table_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

constexpr int kPageBytes = 512;
constexpr std::int64_t kRows = 4000;

// A table with a row for each number below kRows, and one whose key has two numbers, 40 of the second for each first.
class TableRows : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::tamper(path_,
                    "PRAGMA page_size = 512; CREATE TABLE single (id INTEGER PRIMARY KEY, text TEXT); "
                    "CREATE TABLE pair (a INTEGER, b INTEGER, text TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID; "
                    "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999) "
                    "INSERT INTO single SELECT i, printf('text of %05d', i) FROM n; "
                    "INSERT INTO pair SELECT id / 40, id % 40, text FROM single");
    bytes_ = testing::read_file(path_);
  }
  // The page of a row's text; its neighbours there are lost with it.
  std::size_t page_of(std::int64_t id, std::size_t from) const {
    char text[32];
    std::snprintf(text, sizeof text, "text of %05d", static_cast<int>(id));
    return bytes_.find(text, from) / kPageBytes;
  }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }
  void zero(std::size_t page) { bytes_.replace(page * kPageBytes, kPageBytes, kPageBytes, '\0'); }

  std::set<std::int64_t> singles() {
    Database db = Database::open_damaged(path_, false);
    std::set<std::int64_t> ids;
    unread_ = read_rows(db, "single", "id", true, [&](const Statement& row) { ids.insert(row.integer(0)); });
    return ids;
  }
  std::set<std::int64_t> pairs() {
    Database db = Database::open_damaged(path_, false);
    std::set<std::int64_t> ids;
    unread_ = read_rows(db, "pair", "a, b", true,
                        [&](const Statement& row) { ids.insert(40 * row.integer(0) + row.integer(1)); });
    return ids;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "rows.db";
  std::string bytes_;
  UnreadRows unread_;
};

// As many rows as fit into a page of 512 bytes: some 17 of `single`, some 18 of `pair`.
constexpr std::int64_t kMostOfPage = 40;

TEST_F(TableRows, OnlyTheRowsOfUnreadablePagesAreLost) {
  for (const std::int64_t id : {500, 600, 2000, 3990}) zero(page_of(id, 0));
  write(bytes_);
  const std::set<std::int64_t> ids = singles();
  EXPECT_EQ(unread_.gaps, 4);
  EXPECT_EQ(unread_.bad_rows, 0);
  EXPECT_GE(std::ssize(ids), kRows - 4 * kMostOfPage);
  for (const std::int64_t id : {500, 600, 2000, 3990}) EXPECT_FALSE(ids.contains(id)) << id;
  for (const std::int64_t id : {0, 460, 550, 640, 1000, 1960, 2040, 3900}) EXPECT_TRUE(ids.contains(id)) << id;
  // Every row that is missing lies in a gap that was told of.
  for (std::int64_t id = 0; id < kRows; ++id) {
    const auto holds = [&](const KeyRange& keys) { return keys.first <= id && id <= keys.last; };
    EXPECT_TRUE(ids.contains(id) || std::ranges::any_of(unread_.keys, holds)) << id;
  }
}

TEST_F(TableRows, TheFirstPageMayBeLost) {
  zero(page_of(3, 0));
  write(bytes_);
  const std::set<std::int64_t> ids = singles();
  EXPECT_FALSE(ids.contains(3));
  EXPECT_GE(std::ssize(ids), kRows - kMostOfPage);
}

TEST_F(TableRows, AKeyThatIsTooLargeHidesNoRowsInSilence) {
  // Before the text of a row: its bytes, its key in two bytes, and a header of three.
  bytes_.replace(bytes_.find("text of 00500") - 5, 2, "\xff\x7f");  // 16,383
  write(bytes_);
  const std::set<std::int64_t> ids = singles();
  EXPECT_EQ(std::ssize(ids), kRows);
  EXPECT_TRUE(ids.contains(16383) && ids.contains(501));
  EXPECT_FALSE(ids.contains(500));
  EXPECT_GT(unread_.bad_rows, 0);
  const auto is_whole = [](const KeyRange& keys) {
    return keys.first == KeyRange{}.first && keys.last == KeyRange{}.last;
  };
  EXPECT_TRUE(std::ranges::any_of(unread_.keys, is_whole));
}

TEST_F(TableRows, AKeyOfTwoNumbersIsFollowedInBoth) {
  const std::size_t second_table = bytes_.find("text of 03999") + 1;
  for (const std::int64_t id : {85, 2010}) zero(page_of(id, second_table));
  write(bytes_);
  const std::set<std::int64_t> ids = pairs();
  EXPECT_EQ(unread_.gaps, 2);
  EXPECT_GE(std::ssize(ids), kRows - 2 * kMostOfPage);
  for (const std::int64_t id : {85, 2010}) EXPECT_FALSE(ids.contains(id)) << id;
  EXPECT_EQ(singles().size(), static_cast<std::size_t>(kRows));
}

TEST_F(TableRows, AFileMayBeCutAnywhere) {
  std::size_t most = 0;
  for (std::size_t pages = 3; pages <= bytes_.size() / kPageBytes; pages += 7) {
    write(bytes_.substr(0, pages * kPageBytes + 100));
    std::size_t read = 0;
    ASSERT_NO_THROW(read = singles().size()) << pages;
    EXPECT_GE(read, most) << pages;  // more bytes, no fewer rows
    most = std::max(most, read);
  }
  EXPECT_EQ(most, static_cast<std::size_t>(kRows));
}

TEST_F(TableRows, ARowThatMakesNoSenseIsLeftOutAlone) {
  testing::tamper(path_, "UPDATE single SET text = x'00' WHERE id IN (7, 3000)");
  Database db = Database::open_damaged(path_, false);
  std::int64_t taken = 0;
  const auto take = [&](const Statement& row) { taken += !row.text(0).empty(); };
  const UnreadRows unread = read_rows(db, "single", "text", true, take);
  EXPECT_EQ(taken, kRows - 2);
  EXPECT_EQ(unread.bad_rows, 2);
  ASSERT_EQ(unread.keys.size(), 2u);
  EXPECT_EQ(unread.keys[1].first, 3000);
  EXPECT_THROW(read_rows(db, "single", "text", false, take), Error);
}

TEST_F(TableRows, AFaultOfTheOutputIsNotTakenForDamage) {
  Database db = Database::open_damaged(path_, false);
  EXPECT_THROW(read_rows(db, "single", "id", true,
                         [](const Statement&) { throw Error(ErrorCode::kStoreWrite, "the disk is full"); }),
               Error);
}

}  // namespace
}  // namespace spscope
