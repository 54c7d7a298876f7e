// SQLite behind three handles: Database, Statement, Transaction. Only this folder includes sqlite3.h.
//
// A database is opened either as the one writer of a new file or as a reader of a file that anybody may have made. The
// reader's settings assume malice: the schema is not trusted, views and triggers of the file never run, extensions
// cannot be loaded, sizes are limited, and nothing is ever written.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/base/error.h"
#include "backend/store/sqlite/checked_file.h"

namespace spscope {

class Database;

// "SPSC" in the header of every store.
inline constexpr int kApplicationId = 0x53505343;

// Whether SQLite can refuse the views of a file and still run those of the temp schema, where ours are: since 3.35.
bool can_disable_stored_views();

// Instructions of SQLite's machine between two looks whether to go on. A scan of events runs about ten a chunk, so that
// it looks every few milliseconds.
inline constexpr int kInstructionsPerLook = 1'000;

// A prepared statement. Parameters and columns count from 0. For one thread at a time.
class Statement {
 public:
  // Throws Error when the SQL does not fit the database.
  Statement(Database& db, std::string_view sql);

  // Binds all parameters, in order, and runs to the end: for statements that return no rows.
  template <typename... Values>
  void run(const Values&... values) {
    bind_all(values...);
    while (step()) {
    }
  }
  // Binds all parameters; then step() walks the rows.
  template <typename... Values>
  Statement& bind_all(const Values&... values) {
    reset();
    int index = 0;
    (bind(index++, values), ...);
    return *this;
  }
  void bind(int index, std::string_view text);
  void bind(int index, const char* text) { bind(index, std::string_view(text)); }
  void bind(int index, const std::string& text) { bind(index, std::string_view(text)); }
  void bind(int index, double value);
  // NULL when absent.
  template <typename T>
  void bind(int index, const std::optional<T>& value) {
    value ? bind(index, *value) : bind_null(index);
  }
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void bind(int index, T value) { bind_integer(index, static_cast<std::int64_t>(value)); }
  // The bytes must stay until the statement is run, reset or destroyed.
  void bind(int index, std::span<const std::uint8_t> blob);

  // Binds the value of another statement's column.
  void copy(int index, const Statement& row, int column);
  // Runs to the end with what is bound; false when a CHECK, key or NOT NULL refuses the row.
  bool try_run();

  // Whether there is a row. After the last one the statement is reset.
  bool step();
  void reset() noexcept;

  int num_columns() const;
  std::string column_name(int index) const;
  bool is_null(int index) const;
  // Throws Error (kStoreCorrupt) when the column holds another type.
  std::int64_t integer(int index) const;
  // integer() in [min, max]; throws Error (kStoreCorrupt) otherwise.
  std::int64_t integer(int index, std::int64_t min, std::int64_t max) const;
  // A count, rank or other number that is never negative.
  int count(int index) const;
  bool flag(int index) const { return integer(index, 0, 1) != 0; }
  double real(int index) const;
  std::string text(int index) const;
  // Valid until the next step().
  std::span<const std::uint8_t> blob(int index) const;
  sqlite3_stmt* handle() const { return handle_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  void bind_integer(int index, std::int64_t value);
  void bind_null(int index);
  void expect_type(int index, int type) const;

  Database* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

// An open connection. `path` is what messages name.
class Database {
 public:
  // An existing empty file that nobody else opens: no journal, so a failure loses the one transaction.
  static Database create(const std::string& file, const std::string& path);
  // A finished file, never written. Ignores locks and journals: a finished file is only ever replaced whole. Each page
  // is compared with its checksum when it is read; one that differs is an error (kStoreCorrupt) of the statement that
  // needs it.
  static Database open_read_only(const std::string& path);
  // A shard: an empty file that exists, which its one writer fills while others read. write_ahead() comes before the
  // first transaction, and after what must be in the file itself.
  static Database create_shard(const std::string& path);
  void write_ahead();
  // A shard that may still be written. Reads what is committed when a statement begins, and writes nothing but the
  // index that readers and writer share beside the file. Reset every statement: a read that is held lets the log grow.
  static Database open_shard(const std::string& path);
  // Of either kind, as far as SQLite can find its way in a file that is damaged or cut short. Of a finished file, pages
  // are compared with their checksums where it has them; of a shard, rows that it reads may be those of the damage.
  static Database open_damaged(const std::string& path, bool keeps_log);
  // A database of its own in memory, for tests of SQL.
  static Database in_memory();

  // From now on statements and long reads end with Error (kCancelled) once the token is cancelled.
  void cancel_by(const CancelToken& token);
  // The token of the call before; at first one that nobody cancels.
  const CancelToken& cancel_token() const { return *cancel_; }

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_.get(); }
  // Throws Error (kStoreCorrupt): what was read cannot be what was written. `why`: "a plan lacks a part".
  [[noreturn]] void throw_damaged(std::string_view why) const;
  // Whether the pages of the file are compared with checksums.
  PageChecksums::State page_checksums() const;
  // Runs statements that return nothing of interest.
  void execute(const std::string& sql);
  std::int64_t last_insert_id() const { return sqlite3_last_insert_rowid(handle()); }
  // Throws Error unless `code` is SQLITE_OK: "cannot write out.db: database or disk is full (SQLite)".
  void check(int code) const;
  [[noreturn]] void fail(int code) const;

 private:
  [[noreturn]] void fail_for_memory() const;
  void require_right_page() const;
  Database(const std::string& file, int flags, std::string path, bool writing, const char* vfs = nullptr);
  void set_hostile_limits(bool damaged = false);

  struct Close {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
  };
  std::string path_;
  bool writing_;
  const char* place_setting_ = "-o";                                       // what chooses the folder
  std::unique_ptr<CancelToken> cancel_ = std::make_unique<CancelToken>();  // SQLite holds its address
  std::unique_ptr<sqlite3, Close> handle_;
};

// Begins at construction; rolls back when destroyed without commit().
class Transaction {
 public:
  explicit Transaction(Database& db);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* db_;
  bool open_ = true;
};

}  // namespace spscope
