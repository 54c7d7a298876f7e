// Opening a finished store or a shard: everything that is checked before the first row is read.
#pragma once

#include <string>

#include "backend/record/rank_records.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// The error for a file that was created and has no tables: its run ended before anything was recorded.
Error nothing_recorded(const std::string& path);

struct OpenedStore {
  Database db;
  FileRecord file;
  ShardRecord shard;
};

// Whether a connection gets the tables of event_table.h and the views of schemas/views in its temp schema: callers
// that open many shards and ask no questions in SQL do without.
enum class EventTables { kYes, kNo };

// A read-only connection. Throws Error as StoreReader does.
OpenedStore open_store(const std::string& path, EventTables tables = EventTables::kYes);
// The same of a shard, with or without a write-ahead log; kStoreForeign when it is none.
OpenedStore open_shard(const std::string& path, EventTables tables = EventTables::kYes);

// Either kind, also when it is cut short or damaged: only the list of its tables and `meta` must be readable. Without
// the tables of event_table.h.
OpenedStore open_damaged(const std::string& path, bool keeps_log);

// Makes those tables and views on a connection to a store. Throws Error.
void add_event_tables(Database& db);

}  // namespace spscope
