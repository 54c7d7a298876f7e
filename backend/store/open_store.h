// Opening a finished store or a shard: everything that is checked before the first row is read.
#pragma once

#include <string>
#include <string_view>

#include "backend/record/rank_records.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// What is told of a file that was made and never filled: its run ended first.
Error nothing_recorded(const std::string& path);

struct OpenedStore {
  Database db;
  FileRecord file;
  ShardRecord shard;
};

// Whether the list of tables has a table of rows by that name, and no view or virtual table.
bool is_ordinary_table(Database& db, std::string_view table);
// Of a damaged file. Throws Error (kStoreVersion) when it says that a newer program is needed: read by this one it
// would seem empty. What it cannot say any more is no fault here.
void check_damaged(Database& db);

// Whether a connection gets the tables of event_table.h and the views of schemas/views in its temp schema: who asks no
// question in SQL, and opens many shards, does without.
enum class EventTables { kYes, kNo };

// A read-only connection. Throws Error as StoreReader does.
OpenedStore open_store(const std::string& path, EventTables tables = EventTables::kYes);
// The same of a shard, with or without a write-ahead log; kStoreForeign when it is none.
OpenedStore open_shard(const std::string& path, EventTables tables = EventTables::kYes);

// Makes those tables and views on a connection to a store. Throws Error.
void add_event_tables(Database& db);

}  // namespace spscope
