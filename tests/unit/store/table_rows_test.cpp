#include "backend/store/sqlite/table_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

constexpr std::size_t kPageBytes = 512;
constexpr std::int64_t kRows = 4000;

// A table with a row for each number below kRows.
class TableRows : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::tamper(path_,
                    "PRAGMA page_size = 512; CREATE TABLE single (id INTEGER PRIMARY KEY, text TEXT); "
                    "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999) "
                    "INSERT INTO single SELECT i, printf('text of %05d', i) FROM n");
    bytes_ = testing::read_file(path_);
  }
  std::size_t page_of(const char* text) const { return bytes_.find(text) / kPageBytes; }
  std::set<std::int64_t> rows() {
    testing::write_file(path_, bytes_);
    Database db = Database::open_damaged(path_, false);
    std::set<std::int64_t> ids;
    unread_ = read_rows(db, "single", "id", [&](const Statement& row) {
      if (row.integer(0) % 1000 == 999) throw Error(ErrorCode::kStoreCorrupt, "it ends with 999");
      ids.insert(row.integer(0));
      ++count_;
    });
    return ids;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "rows.db";
  std::string bytes_;
  UnreadRows unread_;
  std::int64_t count_ = 0;  // of rows that were taken
};

TEST_F(TableRows, ARowThatIsRejectedIsCountedAndReadingGoesOn) {
  EXPECT_EQ(std::ssize(rows()), kRows - 4);
  EXPECT_EQ(unread_.bad_rows, 4);
  EXPECT_FALSE(unread_.rest);
  EXPECT_STREQ(unread_.cause->what(), "it ends with 999");
}

TEST_F(TableRows, RowsFromAnUnreadablePageOnAreLeftOut) {
  bytes_.replace(page_of("text of 02000") * kPageBytes, kPageBytes, kPageBytes, '\0');
  const std::set<std::int64_t> ids = rows();
  EXPECT_TRUE(unread_.rest);
  EXPECT_EQ(unread_.bad_rows, 1);
  constexpr std::int64_t kMostOfPage = 40;
  EXPECT_GT(std::ssize(ids), 2000 - 1 - kMostOfPage);
  EXPECT_LT(*ids.rbegin(), 2000);
}

// An inner page that names one page again and again: no table has more rows than its file has room for.
TEST_F(TableRows, CirclesOfPagesEnd) {
  const std::size_t root = kPageBytes;  // page 2
  ASSERT_EQ(bytes_[root], 5);
  const std::size_t cells = static_cast<unsigned char>(bytes_[root + 4]);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::size_t at = root + 12 + 2 * cell;
    const std::size_t place =
        static_cast<unsigned char>(bytes_[at]) * 256u + static_cast<unsigned char>(bytes_[at + 1]);
    for (std::size_t i = 0; i < 4; ++i) bytes_[root + place + i] = i == 3 ? 2 : 0;  // the page itself
  }
  rows();
  EXPECT_TRUE(unread_.rest);
  EXPECT_LT(count_, std::ssize(bytes_) / 4 + 2);
}

TEST_F(TableRows, AFaultOfTheOutputIsNotTakenForDamage) {
  Database db = Database::open_damaged(path_, false);
  EXPECT_THROW(
      read_rows(db, "single", "id", [](const Statement&) { throw Error(ErrorCode::kStoreWrite, "the disk is full"); }),
      Error);
}

}  // namespace
}  // namespace spscope
