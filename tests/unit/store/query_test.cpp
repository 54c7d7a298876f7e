#include "backend/store/sqlite/query.h"

#include <chrono>

#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_sample;

class Query : public ::testing::Test {
 protected:
  Query() { write_sample(path_); }
  Error refused(const std::string& sql, const QueryLimits& limits = {}) {
    const Error error = error_of([&] { StoreReader(path_).query(sql, limits); });
    EXPECT_EQ(error.code(), ErrorCode::kStoreQuery) << sql;
    return error;
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "out.db";
};

TEST_F(Query, AnswersWithNamesAndText) {
  const QueryResult result =
      StoreReader(path_).query("SELECT 1 AS one, 0.5 AS half, NULL AS none, 'a' AS text, x'0aFF' AS blob");
  EXPECT_EQ(result.columns, (std::vector<std::string>{"one", "half", "none", "text", "blob"}));
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0], (std::vector<std::optional<std::string>>{"1", "0.5", std::nullopt, "a", "x'0aff'"}));
  using enum ValueKind;
  EXPECT_EQ(result.kinds[0], (std::vector<ValueKind>{kInteger, kReal, kNull, kText, kText}));
  EXPECT_FALSE(result.truncated);
}

TEST_F(Query, GivesRealsInFull) {
  EXPECT_EQ(StoreReader(path_).query("SELECT 0.1 + 0.2, 2.0, 1e300, -0.5").rows[0],
            (std::vector<std::optional<std::string>>{"0.30000000000000004", "2.0", "1e+300", "-0.5"}));
}

TEST_F(Query, AnswersOneQuestionWithCommentsAroundIt) {
  EXPECT_EQ(StoreReader(path_).query("-- how many\nSELECT count(*) FROM strategy; -- so many\n ;").rows[0][0], "2");
  for (const char* sql : {"SELECT 1; SELECT 2", "", " ; -- nothing", "SELEC 1", "SELECT * FROM nowhere"}) refused(sql);
}

TEST_F(Query, ChangesNothing) {
  const std::string before = read_file(path_);
  const std::string elsewhere = "'" + (folder_ / "new.db") + "'";
  for (const char* sql :
       {"DELETE FROM run", "UPDATE run SET layer = 1", "INSERT INTO meta VALUES ('a', 'b')", "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)", "DROP VIEW event", "DROP TABLE run", "PRAGMA writable_schema = ON",
        "PRAGMA table_info(run)", "BEGIN", "SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')",
        "SELECT * FROM pragma_journal_mode('wal')", "EXPLAIN DELETE FROM run", "WITH a AS (SELECT 1) DELETE FROM run",
        "ALTER TABLE run ADD COLUMN x", "REINDEX", "ANALYZE"})
    refused(sql);
  refused("ATTACH " + elsewhere + " AS x");
  refused("VACUUM INTO " + elsewhere);
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"out.db"});
}

TEST_F(Query, TakesOnlySoLongAndGivesOnlySoMuch) {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";
  const auto begin = std::chrono::steady_clock::now();
  const Error error = refused(endless + "SELECT count(*) FROM n", {.max_ms = 50});
  EXPECT_NE(std::string(error.what()).find("longer than 50 ms"), std::string::npos) << error.what();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  const StoreReader reader(path_);
  const QueryResult cut = reader.query(endless + "SELECT i FROM n", {.max_rows = 10});
  EXPECT_EQ(cut.rows.size(), 10u);
  EXPECT_TRUE(cut.truncated);
  EXPECT_TRUE(reader.query("SELECT hex(zeroblob(1000)) FROM enum_name", {.max_bytes = 5000}).truncated);
  EXPECT_EQ(error_of([&] { reader.query("SELECT length(randomblob(900000000))"); }).code(), ErrorCode::kStoreQuery);
  EXPECT_EQ(reader.query("SELECT length(randomblob(1000000))").rows[0][0], "1000000") << "it goes on after a refusal";
}

}  // namespace
}  // namespace spscope
