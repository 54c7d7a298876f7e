// Passes of ranks: every one comes back from its chunks, ranks of one process share them, and damage is an error.
#include "backend/store/rank_repeats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "backend/base/rng.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/open_store.h"
#include "backend/store/sqlite/query.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

Database new_store() {
  Database db = Database::in_memory();
  for (const SqlText& migration : embedded_migrations()) db.execute(std::string(migration.text));
  return db;
}

std::vector<RankRepeat> all_of(Database& db) {
  std::vector<RankRepeat> all;
  for_each_rank_repeat(db, std::nullopt, [&](const RankRepeat& r) { all.push_back(r); });
  std::ranges::sort(all, {}, [](const RankRepeat& r) { return std::tuple(r.run_id, r.repeat, r.rank); });
  return all;
}

// Two runs of some passes; ranks 0 to `together` - 1 begin and end together, the others alone.
std::vector<RankRepeat> passes(int ranks, int together, int repeats) {
  Rng rng(3);
  std::vector<RankRepeat> all;
  std::int64_t now = 1'000'000;
  for (const RunId run : {RunId{1}, RunId{4}})
    for (int repeat = 0; repeat < repeats; ++repeat) {
      now += 500 + rng.below(100);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::int64_t late = rank < together ? 0 : 50 * rank + rng.below(50);
        all.push_back({run, repeat, rank, now + late, now + 400 + late});
      }
    }
  return all;
}

std::int64_t number(Database& db, const std::string& sql) {
  Statement row(db, sql);
  return row.step() ? row.integer(0) : -1;
}

TEST(RankRepeats, EveryPassComesBack) {
  for (const int repeats : {1, 4096, 4097, 9000})
    for (const ChunkCodec codec : {ChunkCodec::kPacked, ChunkCodec::kCoded}) {
      Database db = new_store();
      const std::vector<RankRepeat> written = passes(5, 3, repeats);
      RankRepeatWriter writer(db, codec);
      writer.begin_source();
      for (const RankRepeat& r : written) writer.add(r);
      writer.begin_source();
      for (const RankRepeat& r : written) writer.add({r.run_id, r.repeat, r.rank, 7, 8});  // told already
      writer.flush();
      EXPECT_EQ(all_of(db), written);
      EXPECT_EQ(number(db, "SELECT max(ranks) FROM rank_repeat_chunk"), 3);
      EXPECT_EQ(number(db, "SELECT count(*) FROM rank_repeat_chunk"), 2 * 3 * ((repeats + 4095) / 4096));
      EXPECT_EQ(first_rank_repeat_ns(db, 2), written.front().begin_ns);
      EXPECT_FALSE(first_rank_repeat_ns(db, 5));
      // Packing what is packed changes nothing.
      Database again = new_store();
      RankRepeatWriter copy(again, codec);
      for_each_rank_repeat(db, std::nullopt, [&](const RankRepeat& r) { copy.add(r); });
      copy.flush();
      EXPECT_EQ(all_of(again), written);
      EXPECT_EQ(number(again, "SELECT count(*) FROM rank_repeat_chunk"),
                number(db, "SELECT count(*) FROM rank_repeat_chunk"));
    }
}

TEST(RankRepeats, ManyRanksAreSplit) {
  Database db = new_store();
  const std::vector<RankRepeat> written = passes(40, 40, 3);
  RankRepeatWriter writer(db, ChunkCodec::kPacked);
  for (const RankRepeat& r : written) writer.add(r);
  writer.flush();
  EXPECT_EQ(all_of(db), written);
  EXPECT_EQ(number(db, "SELECT count(*) FROM rank_repeat_chunk"), 2 * 3);
}

std::vector<RankRepeat> rows_in_sql(Database& db, const std::string& where) {
  std::vector<RankRepeat> rows;
  const std::string sql = "SELECT run_id, repeat, rank, begin_ns, end_ns FROM rank_repeat WHERE " + where;
  for (const auto& row : run_query(db, sql + " ORDER BY 1, 2, 3").rows)
    rows.push_back(
        {RunId{std::stoll(*row[0])}, std::stoi(*row[1]), std::stoi(*row[2]), std::stoll(*row[3]), std::stoll(*row[4])});
  return rows;
}

// Of a file in which some passes are packed and some are rows.
TEST(RankRepeats, TheTableInSqlHasEveryPass) {
  Database db = new_store();
  const std::vector<RankRepeat> written = passes(20, 18, 5'000);
  RankRepeatWriter writer(db, ChunkCodec::kCoded);
  Statement insert(db, "INSERT INTO main.rank_repeat VALUES (?, ?, ?, ?, ?)");
  for (const RankRepeat& r : written)
    if (r.repeat < 4'900)
      writer.add(r);
    else
      insert.run(r.run_id, r.repeat, r.rank, r.begin_ns, r.end_ns);
  writer.flush();
  add_event_tables(db);
  const auto expect_rows = [&](const std::string& where, const auto& holds) {
    std::vector<RankRepeat> expected;
    std::ranges::copy_if(written, std::back_inserter(expected), holds);
    EXPECT_TRUE(rows_in_sql(db, where) == expected) << where;
  };
  expect_rows("1", [](const RankRepeat&) { return true; });
  expect_rows("run_id = 4 AND rank = 15", [](const auto& r) { return r.run_id == RunId{4} && r.rank == 15; });
  expect_rows("rank > 15 AND rank <= 18", [](const auto& r) { return r.rank > 15 && r.rank <= 18; });
  expect_rows("rank = -1 OR run_id > 4", [](const RankRepeat&) { return false; });
  expect_rows("run_id < 2.5 AND repeat = 4899", [](const auto& r) { return r.run_id == RunId{1} && r.repeat == 4899; });
}

TEST(RankRepeats, DamageIsAnError) {
  Database db = new_store();
  add_event_tables(db);
  RankRepeatWriter writer(db, ChunkCodec::kPacked);
  for (const RankRepeat& r : passes(2, 2, 20)) writer.add(r);
  writer.flush();
  for (const char* change : {"ranks = 0", "ranks = 17", "ranks = 1 << 40", "rank = 2147483647", "rank = -1",
                             "repeat_min = -1", "repeat_max = 1 << 40", "repeat_max = repeat_max + 1", "count = 21",
                             "count = 1 << 40", "codec = 7", "codec = 0", "record_version = 9", "crc32c = crc32c + 1",
                             "begin_min_ns = begin_min_ns + 1", "end_max_ns = 0", "data = x''"}) {
    db.execute(std::string("SAVEPOINT s; UPDATE main.rank_repeat_chunk SET ") + change);
    EXPECT_EQ(testing::error_of([&] { all_of(db); }).code(), ErrorCode::kStoreCorrupt) << change;
    EXPECT_EQ(testing::error_of([&] { rows_in_sql(db, "1"); }).code(), ErrorCode::kStoreWrite) << change;  // ours
    db.execute("ROLLBACK TO s; RELEASE s");
  }
  EXPECT_EQ(all_of(db).size(), 2u * 2 * 20);
}

}  // namespace
}  // namespace spscope
