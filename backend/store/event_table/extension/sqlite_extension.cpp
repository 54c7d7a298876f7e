// The loadable extension libspscope_sqlite.so: gives any program with SQLite the tables `event` and `event_stats` and
// the views of schemas/views over the store that it has opened.
//
//   sqlite3 today.db "SELECT load_extension('build/lib/libspscope_sqlite')" "SELECT count(*) FROM event"
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <string>

#include "backend/base/result.h"
#include "backend/store/event_table/event_table.h"

namespace spscope {

namespace {

int load(sqlite3* db, std::string& error) {
  if (sqlite3_table_column_metadata(db, "main", "chunk", "data", nullptr, nullptr, nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    error = "the open database is not a store of spscope";
    return SQLITE_ERROR;
  }
  return create_event_tables(db, error);
}

}  // namespace

}  // namespace spscope

// SQLite derives the name from that of the file: its letters, without "lib".
extern "C" __attribute__((visibility("default"))) int sqlite3_spscopesqlite_init(sqlite3* db, char** message,
                                                                                 const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  std::string error;
  spscope::Result<int> code = spscope::capture([&] { return spscope::load(db, error); });
  if (!code) error = code.error().what();
  if (code && *code == SQLITE_OK) return SQLITE_OK;
  *message = sqlite3_mprintf("%s", error.c_str());
  return code ? *code : SQLITE_ERROR;
}
