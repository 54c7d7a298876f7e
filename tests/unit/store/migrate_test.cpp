// Files of version 1: a sample that the first version wrote is read through a copy that has everything it had.
#include "backend/analysis/comparison.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/migrate_copy.h"
#include "backend/store/new_store.h"
#include "backend/store/open_store.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::TemporaryFolder;
using Rows = std::vector<std::vector<std::optional<std::string>>>;

// 4 ranks, 2 strategies, 2 repeats; its pages were made smaller, nothing else.
const std::string kSample = SPSCOPE_SOURCE_DIR "/tests/samples/store-v1.db";

Rows rows_of(Database& db, const std::string& sql) {
  Statement statement(db, sql);
  Rows rows;
  while (statement.step()) {
    std::vector<std::optional<std::string>>& row = rows.emplace_back();
    for (int i = 0; i < statement.num_columns(); ++i) {
      const void* bytes = sqlite3_column_blob(statement.handle(), i);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement.handle(), i));
      if (statement.is_null(i))
        row.emplace_back();
      else
        row.emplace_back(std::string(static_cast<const char*>(bytes), size));
    }
  }
  return rows;
}

std::vector<std::string> tables_of(Database& db) {
  std::vector<std::string> names;
  for (const auto& row : rows_of(db, "SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name"))
    names.push_back(*row[0]);
  return names;
}

Database migrated(const std::string& path) {
  SourceStore source = open_source(path);
  EXPECT_EQ(source.schema_version, 1);
  Database copy = Database::in_memory();
  migrate_copy(source.db, source.schema_version, copy);
  return copy;
}

TEST(Migrate, AMigratedFileHasTheSchemaOfAFreshOne) {
  Database old = migrated(kSample), fresh = Database::in_memory();
  create_tables(fresh, "");
  const std::string schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name";
  EXPECT_EQ(rows_of(old, schema), rows_of(fresh, schema));
  EXPECT_EQ(rows_of(old, "SELECT * FROM enum_name ORDER BY kind, value"),
            rows_of(fresh, "SELECT * FROM enum_name ORDER BY kind, value"));
  const std::string version = "SELECT * FROM meta WHERE key IN ('schema_version', 'min_reader') ORDER BY key";
  EXPECT_EQ(rows_of(old, version), rows_of(fresh, version));
  for (const std::string& table : tables_of(fresh))
    EXPECT_EQ(rows_of(old, "SELECT name, type FROM pragma_table_info('" + table + "')"),
              rows_of(fresh, "SELECT name, type FROM pragma_table_info('" + table + "')"));
}

TEST(Migrate, EveryRowIsThere) {
  SourceStore source = open_source(kSample);
  Database copy = migrated(kSample);
  int compared = 0;
  for (const std::string& table : tables_of(source.db)) {
    if (table == "event_row" || table == "enum_name" || table == "meta") continue;
    std::string columns;
    for (const auto& row : rows_of(source.db, "SELECT name FROM pragma_table_info('" + table + "')"))
      columns += (columns.empty() ? "" : ", ") + *row[0];
    const std::string sql = "SELECT " + columns + " FROM main." + table + " ORDER BY " + columns;
    EXPECT_EQ(rows_of(copy, sql), rows_of(source.db, sql)) << table;
    compared += !rows_of(copy, sql).empty();
  }
  EXPECT_GE(compared, 18);
  EXPECT_EQ(rows_of(copy, "SELECT DISTINCT finished FROM run"), (Rows{{"1"}}));
}

// Events come back as they stand in the table of version 1, read by SQL of this test's own.
TEST(Migrate, EveryEventIsThere) {
  SourceStore source = open_source(kSample);
  const StoreReader reader(kSample);
  EXPECT_EQ(reader.file().schema_version, 1);
  Rows stored = rows_of(source.db,
                        "SELECT run_id, stream_id, begin_ns, end_ns, op_id, name_id, flags, entry_ns, "
                        "transfer_begin_ns, transfer_end_ns, sequence, bytes, communicator_id, peer FROM event_row");
  ASSERT_EQ(stored.size(), 96u);
  const auto text = [](auto number) { return std::optional<std::string>(std::to_string(number)); };
  Rows read;
  for (const Stream& stream : reader.events().streams())
    for (const std::int64_t run : {1, 2}) {
      const auto common = [&](const SpanEvent& e) {
        return std::vector{text(run),        text(static_cast<std::int64_t>(stream.stream_id)),
                           text(e.begin_ns), text(e.end_ns),
                           text(e.op_id),    text(e.name),
                           text(e.flags)};
      };
      const std::vector<CollectiveEvent> collectives = reader.events().collectives(RunId{run}, stream.stream_id);
      for (const SpanEvent& e : reader.events().spans(RunId{run}, stream.stream_id)) {
        if (std::ranges::any_of(collectives, [&](const CollectiveEvent& c) { return c.span == e; })) continue;
        read.push_back(common(e));
        read.back().resize(14);
      }
      for (const CollectiveEvent& c : collectives) {
        read.push_back(common(c.span));
        for (const std::int64_t number : {c.entry_ns, c.transfer_begin_ns, c.transfer_end_ns, c.sequence, c.bytes,
                                          std::int64_t{c.communicator}, std::int64_t{c.peer}})
          read.back().push_back(text(number));
      }
    }
  std::sort(stored.begin(), stored.end());
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, stored);
  EXPECT_EQ(reader.query("SELECT count(*), sum(end_ns - begin_ns) FROM event").rows,
            rows_of(source.db, "SELECT count(*), sum(end_ns - begin_ns) FROM event_row"));
}

TEST(Migrate, PlansAndTimelinesCanBeRead) {
  const StoreReader reader(kSample);
  int timelines = 0;
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
      EXPECT_TRUE(run.finished);
      const Plan plan = reader.plan(*run.plan_id);
      for (const RepeatRecord& repeat : reader.repeats(run.run_id)) {
        const std::optional<Timeline> timeline = reader.timeline(run.run_id, repeat.repeat);
        ASSERT_TRUE(timeline);
        EXPECT_EQ(timeline->ops.size(), plan.ops.size());
        EXPECT_EQ(timeline->makespan_ns(), repeat.makespan_ns);
        ++timelines;
      }
    }
  EXPECT_EQ(timelines, 4);
  EXPECT_EQ(compare_store(reader).front().strategies.size(), 2u);
}

TEST(Migrate, TheOldFileStaysAsItIsAndTheNewOneReadsTheSame) {
  TemporaryFolder folder;
  const std::string old = folder / "old.db", fresh = folder / "new.db";
  std::filesystem::copy_file(kSample, old);
  {
    SourceStore source = open_source(old);
    OutputFile out(fresh, false);
    {
      Database db = Database::create(out.temporary_path(), fresh);
      mark_as_ours(db, 0);
      migrate_copy(source.db, source.schema_version, db, ChunkCodec::kCoded);
    }
    out.commit();
  }
  EXPECT_EQ(testing::read_file(old), testing::read_file(kSample));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"new.db", "old.db"}));
  const StoreReader a(old), b(fresh);
  EXPECT_EQ(b.file().schema_version, kSchemaVersion);
  EXPECT_EQ(b.file().tool_version, a.file().tool_version);
  const std::string events = "SELECT * FROM event ORDER BY event_id";
  EXPECT_EQ(a.query(events).rows, b.query(events).rows);
  EXPECT_EQ(a.query("SELECT * FROM strategy_summary").rows, b.query("SELECT * FROM strategy_summary").rows);
}

TEST(HostileMigrate, RowsThatMakeNoSenseAreRefused) {
  for (const char* sql :
       {"UPDATE event_row SET end_ns = begin_ns - 1", "UPDATE event_row SET flags = -1",
        "UPDATE event_row SET flags = 1 << 40", "UPDATE event_row SET peer = NULL",
        "UPDATE event_row SET communicator_id = -1", "UPDATE run SET density = 'x'", "UPDATE ledger SET sent = x'00'",
        "DROP TABLE mask", "UPDATE meta SET value = '0' WHERE key = 'schema_version'",
        "DROP TABLE event_row; CREATE VIEW event_row AS SELECT 1"}) {
    TemporaryFolder folder;
    std::filesystem::copy_file(kSample, folder / "a.db");
    testing::tamper(folder / "a.db", std::string("PRAGMA ignore_check_constraints = ON;") + sql);
    EXPECT_EQ(error_of([&] { StoreReader reader(folder / "a.db"); }).code(), ErrorCode::kStoreCorrupt) << sql;
  }
}

// What a stranger put beside our tables does not run and does not come along.
TEST(HostileMigrate, ForeignTablesAndTriggersStayBehind) {
  TemporaryFolder folder;
  std::filesystem::copy_file(kSample, folder / "a.db");
  testing::tamper(folder / "a.db",
                  "CREATE TABLE extra (x); CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM plan; END;"
                  "CREATE VIEW chunk AS SELECT 1");
  const StoreReader reader(folder / "a.db");
  EXPECT_TRUE(reader.query("SELECT name FROM sqlite_master WHERE name IN ('extra', 't')").rows.empty());
  EXPECT_EQ(reader.query("SELECT count(*) FROM event").rows, (Rows{{"96"}}));
}

}  // namespace
}  // namespace spscope
