// Opening a finished store: everything that is checked before the first row is read.
#pragma once

#include <string>

#include "backend/store/records.h"
#include "backend/store/sqlite.h"

namespace spscope {

struct OpenedStore {
  Database db;
  FileRecord file;
};

// A read-only connection with the tables of event_table.h and the views of schemas/views in its temp schema. Throws
// Error as StoreReader does.
OpenedStore open_store(const std::string& path);

// Makes those tables and views on a connection to a store. Throws Error.
void add_event_tables(Database& db);

}  // namespace spscope
