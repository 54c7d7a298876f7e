#include "backend/store/sqlite/table_rows.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

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
    unread_ = read_rows(db, "single", "id", [&](const Statement& row) { ids.insert(row.integer(0)); });
    return ids;
  }
  std::set<std::int64_t> pairs() {
    Database db = Database::open_damaged(path_, false);
    std::set<std::int64_t> ids;
    unread_ = read_rows(db, "pair", "a, b", [&](const Statement& row) {
      ids.insert(40 * row.integer(0) + row.integer(1));
      ++rows_;
    });
    return ids;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "rows.db";
  std::string bytes_;
  UnreadRows unread_;
  std::int64_t rows_ = 0;  // that pairs() was given
};

// As many rows as fit into a page of 512 bytes: some 17 of `single`, some 18 of `pair`.
constexpr std::int64_t kMostOfPage = 40;

TEST_F(TableRows, OnlyTheRowsOfUnreadablePagesAreLost) {
  for (const std::int64_t id : {500, 600, 2000, 3990}) zero(page_of(id, 0));
  write(bytes_);
  const std::set<std::int64_t> ids = singles();
  EXPECT_EQ(unread_.gaps, 4);
  EXPECT_EQ(unread_.bad_rows, 0);
  EXPECT_TRUE(unread_.any());
  EXPECT_GE(std::ssize(ids), kRows - 4 * kMostOfPage);
  for (const std::int64_t id : {500, 600, 2000, 3990}) EXPECT_FALSE(ids.contains(id)) << id;
  for (const std::int64_t id : {0, 460, 550, 640, 1000, 1960, 2040, 3900}) EXPECT_TRUE(ids.contains(id)) << id;
  // What is lost is lost page by page: SQLite itself reads no row that was skipped.
  Database db = Database::open_damaged(path_, false);
  Statement row(db, "SELECT text FROM single WHERE id = ?");
  for (std::int64_t id = 0; id < kRows; ++id) {
    if (ids.contains(id)) continue;
    EXPECT_THROW(row.bind_all(id).step(), Error) << id;
  }
}

// A damaged key that is larger than those behind it: no row is read twice, and none is skipped uncounted.
TEST_F(TableRows, RowsOutOfOrderAreCounted) {
  // Before the text of a row: its bytes, its key in two bytes, and a header of three.
  bytes_.replace(bytes_.find("text of 00500") - 5, 2, "\x8f\x28");  // 1,960
  write(bytes_);
  std::set<std::int64_t> ids = singles();
  EXPECT_EQ(unread_.gaps, 0);
  EXPECT_EQ(std::ssize(ids) + unread_.bad_rows, kRows);
  EXPECT_EQ(unread_.bad_rows, 1960 - 500);
  for (const std::int64_t id : {499, 1960, 1961, 3999}) EXPECT_TRUE(ids.contains(id)) << id;
}

TEST_F(TableRows, AKeyOfTwoNumbersIsFollowedInTheFirst) {
  const std::size_t second_table = bytes_.find("text of 03999") + 1;
  for (const std::int64_t id : {85, 2010}) zero(page_of(id, second_table));
  write(bytes_);
  const std::set<std::int64_t> ids = pairs();
  EXPECT_EQ(unread_.gaps, 2);
  EXPECT_GE(std::ssize(ids), kRows - 2 * (kMostOfPage + 40));  // the page, and the rest of its last first number
  for (const std::int64_t id : {85, 2010}) EXPECT_FALSE(ids.contains(id)) << id;
  for (const std::int64_t id : {0, 160, 1960, 2080, 3999}) EXPECT_TRUE(ids.contains(id)) << id;
  EXPECT_EQ(singles().size(), static_cast<std::size_t>(kRows));
}

// Pages that refer to the same one again and again make an endless table of any file: eight levels of 20 branches each
// above one row.
TEST_F(TableRows, CirclesOfPagesEnd) {
  testing::tamper(path_, "PRAGMA page_size = 512; DELETE FROM pair; DROP TABLE single; VACUUM");
  std::string bytes = testing::read_file(path_);
  Database whole = Database::open_damaged(path_, false);
  Statement page(whole, "SELECT rootpage FROM sqlite_master WHERE name = 'pair'");
  ASSERT_TRUE(page.step());
  const auto root = static_cast<std::size_t>(page.integer(0) - 1);
  // An index page: type, no free block, number of cells, where they begin, no fragments; then cells of a child and a
  // record with the key (1, 1) and an empty text.
  const std::string record = {6, 4, 1, 1, 13, 1, 1};
  const auto index_page = [&](std::size_t child) {
    const bool leaf = child == 0;
    const std::string cell = (leaf ? "" : std::string{0, 0, 0, static_cast<char>(child + 1)}) + record;
    const std::size_t cells = 20, at = kPageBytes - cells * cell.size();
    std::string made = {static_cast<char>(leaf ? 10 : 2), 0, 0, 0, static_cast<char>(cells), static_cast<char>(at >> 8),
                        static_cast<char>(at & 0xff),     0};
    if (!leaf) made += std::string{0, 0, 0, static_cast<char>(child + 1)};
    for (std::size_t i = 0; i < cells; ++i) {
      const std::size_t place = at + i * cell.size();
      made += {static_cast<char>(place >> 8), static_cast<char>(place & 0xff)};
    }
    made.resize(at);
    for (std::size_t i = 0; i < cells; ++i) made += cell;
    return made;
  };
  const std::size_t first = bytes.size() / kPageBytes;
  bytes.replace(root * kPageBytes, kPageBytes, index_page(first));
  for (std::size_t level = 0; level < 7; ++level) bytes += index_page(first + level + 1);
  bytes += index_page(0);
  bytes[31] = static_cast<char>(bytes.size() / kPageBytes);  // number of pages
  write(bytes);
  EXPECT_EQ(pairs(), std::set<std::int64_t>{41});
  EXPECT_GT(unread_.gaps, 0);
  EXPECT_EQ(rows_, 1);
  EXPECT_LT(unread_.bad_rows, 10);  // the file has room for some thousand rows
}

TEST_F(TableRows, AFaultOfTheOutputIsNotTakenForDamage) {
  Database db = Database::open_damaged(path_, false);
  EXPECT_THROW(
      read_rows(db, "single", "id", [](const Statement&) { throw Error(ErrorCode::kStoreWrite, "the disk is full"); }),
      Error);
}

}  // namespace
}  // namespace spscope
