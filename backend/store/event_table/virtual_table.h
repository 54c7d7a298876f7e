// What our virtual tables share: a table and a cursor as C++ objects behind SQLite's C structs, and callbacks that turn
// Error into the error text of SQLite. No exception may leave a callback, for SQLite is C.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"
#include "backend/store/event_table/event_source.h"
#include "backend/store/sqlite/sqlite_api.h"

namespace spscope {

struct EventVirtualTable : sqlite3_vtab {
  explicit EventVirtualTable(sqlite3* db) : sqlite3_vtab{}, source(db) {}
  EventSource source;
};

// The code of a failed callback: SQLite's own when one of our statements failed, else that of a damaged table.
inline int code_of_failure(sqlite3* db) {
  switch (const int code = sqlite3_errcode(db) & 0xff) {
    case SQLITE_INTERRUPT:
    case SQLITE_NOMEM:
    case SQLITE_AUTH:
    case SQLITE_BUSY:
    case SQLITE_IOERR:
    case SQLITE_TOOBIG:
      return code;
    default:
      return SQLITE_CORRUPT_VTAB;
  }
}

// Runs `body`, which returns a code of SQLite, and hands what it throws to SQLite as the error of the table.
template <typename Body>
int guarded(sqlite3_vtab* table, Body&& body) {
  const auto* ours = static_cast<EventVirtualTable*>(table);
  Result<int> code = capture(body);
  if (code) return *code;
  if (memory_was_refused()) return SQLITE_NOMEM;
  const int failure = code_of_failure(ours->source.db());
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", code.error().what());
  return failure;
}

// Declares the columns.
template <typename Cursor>
int connect_table(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char** message) {
  const Result<int> code = capture([&] {
    const int declared = sqlite3_declare_vtab(db, Cursor::kTable);
    if (declared != SQLITE_OK) return declared;
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *table = std::make_unique<EventVirtualTable>(db).release();
    return SQLITE_OK;
  });
  if (code) return *code;
  *message = sqlite3_mprintf("%s", code.error().what());
  return SQLITE_ERROR;
}

// Another function than xConnect, or the table would be there under the name of its module too.
template <typename Cursor>
int create_table(sqlite3* db, void* data, int argc, const char* const* argv, sqlite3_vtab** table, char** message) {
  return connect_table<Cursor>(db, data, argc, argv, table, message);
}

inline int disconnect_table(sqlite3_vtab* table) {
  const std::unique_ptr<EventVirtualTable> owned(static_cast<EventVirtualTable*>(table));
  return SQLITE_OK;
}

template <typename Cursor>
int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  return guarded(table, [&] {
    *cursor = std::make_unique<Cursor>(*static_cast<EventVirtualTable*>(table)).release();
    return SQLITE_OK;
  });
}

template <typename Cursor>
int close_cursor(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owned(static_cast<Cursor*>(cursor));
  return SQLITE_OK;
}

// The module of a cursor class with kTable, the statement that declares the table, next(), at_end(),
// column(context, index) and rowid(); the rest is the table's own.
template <typename Cursor>
sqlite3_module module_of(decltype(sqlite3_module::xBestIndex) best_index, decltype(sqlite3_module::xFilter) filter) {
  sqlite3_module module = {};
  module.xCreate = create_table<Cursor>;
  module.xConnect = connect_table<Cursor>;
  module.xBestIndex = best_index;
  module.xFilter = filter;
  module.xDisconnect = module.xDestroy = disconnect_table;
  module.xOpen = open_cursor<Cursor>;
  module.xClose = close_cursor<Cursor>;
  module.xNext = [](sqlite3_vtab_cursor* cursor) {
    return guarded(cursor->pVtab, [&] {
      static_cast<Cursor*>(cursor)->next();
      return SQLITE_OK;
    });
  };
  module.xEof = [](sqlite3_vtab_cursor* cursor) -> int { return static_cast<Cursor*>(cursor)->at_end(); };
  module.xColumn = [](sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
    return guarded(cursor->pVtab, [&] {
      static_cast<Cursor*>(cursor)->column(context, index);
      return SQLITE_OK;
    });
  };
  module.xRowid = [](sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
    *id = static_cast<Cursor*>(cursor)->rowid();
    return SQLITE_OK;
  };
  return module;
}

inline void result_number(sqlite3_context* context, const std::optional<int>& number) {
  number ? sqlite3_result_int(context, *number) : sqlite3_result_null(context);
}
inline void result_run(sqlite3_context* context, RunId run) {
  run == kNoRun ? sqlite3_result_null(context) : sqlite3_result_int64(context, static_cast<std::int64_t>(run));
}

inline void result_track_kind(sqlite3_context* context, TrackKind kind) {
  const std::string_view name = track_kind_name(kind);
  sqlite3_result_text64(context, name.data(), name.size(), SQLITE_STATIC, SQLITE_UTF8);
}

// Text that lives until the next change of the file.
inline void result_text(sqlite3_context* context, const std::string* text) {
  if (text == nullptr)
    sqlite3_result_null(context);
  else
    sqlite3_result_text64(context, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace spscope
