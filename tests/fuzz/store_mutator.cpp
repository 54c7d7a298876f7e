#include "tests/fuzz/store_mutator.h"

#include <sqlite3.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/base/rng.h"
#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {
namespace {

using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)>;
using Rows = std::vector<std::vector<std::string>>;

constexpr sqlite3_int64 kMaxFileBytes = 1 << 20;

// SQLite takes most of its small pieces of memory from one block a connection, and does not count them:
// AddressSanitizer's allocator is a third of the time of opening a file otherwise. What our code reads of a file lies
// in pages or in larger pieces.
[[maybe_unused]] const int kConfigured =
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 400) | sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);

// A copy in memory that anything may be done to.
Connection open_copy(const std::string& file) {
  sqlite3* handle = nullptr;
  sqlite3_open(":memory:", &handle);
  Connection db(handle, sqlite3_close_v2);
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(file.size() + 1));
  std::memcpy(bytes, file.data(), file.size());
  const auto num_bytes = static_cast<sqlite3_int64>(file.size());
  sqlite3_deserialize(handle, "main", bytes, num_bytes, num_bytes,
                      SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  sqlite3_int64 limit = kMaxFileBytes;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit);
  sqlite3_exec(handle, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF", nullptr, nullptr, nullptr);
  return db;
}

std::string bytes_of(sqlite3* db) {
  sqlite3_int64 num_bytes = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &num_bytes, 0);
  if (bytes == nullptr) return {};
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(num_bytes));
  sqlite3_free(bytes);
  return file;
}

Rows rows_of(sqlite3* db, const std::string& sql) {
  Rows rows;
  auto add = [](void* out, int count, char** values, char**) {
    std::vector<std::string>& row = static_cast<Rows*>(out)->emplace_back();
    for (int i = 0; i < count; ++i) row.emplace_back(values[i] == nullptr ? "" : values[i]);
    return 0;
  };
  sqlite3_exec(db, sql.c_str(), add, &rows, nullptr);
  return rows;
}

template <typename List>
const auto& pick(const List& list, Rng& rng) {
  return list[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(std::size(list))))];
}

// A value that no writer would store here, or that is a little off.
std::string some_value(const std::string& column, Rng& rng) {
  static constexpr std::array kNumbers = {"0", "-1", "1", "2", "3", "255", "65536", "2147483647", "2147483648"};
  static constexpr std::array kOthers = {"-9223372036854775808", "9223372036854775807", "0.5", "-1e308", "1e999"};
  static constexpr std::array kTexts = {"NULL", "''", "x'00ff'", "'text'"};
  switch (rng.below(4)) {
    case 0:
      return column + " + 1";
    case 1:
      return column + " - 1";
    case 2:
      return std::to_string(static_cast<std::int64_t>(rng.bits() >> rng.below(64)));
    default:
      break;
  }
  switch (rng.below(3)) {
    case 0:
      return pick(kNumbers, rng);
    case 1:
      return pick(kOthers, rng);
    default:
      return pick(kTexts, rng);
  }
}

struct Column {
  std::string table, name;
};

std::vector<Column> columns_of(sqlite3* db, const std::string& type) {
  std::vector<Column> columns;
  for (const auto& row :
       rows_of(db, "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'" +
                       (type.empty() ? "" : " AND c.type = '" + type + "'")))
    columns.push_back({row[0], row[1]});
  if (columns.empty()) columns.emplace_back();
  return columns;
}

// The rows that share the value of a random row in this column.
std::string some_rows(const Column& column, Rng& rng) {
  return column.name + " = (SELECT " + column.name + " FROM " + column.table + " LIMIT 1 OFFSET " +
         std::to_string(rng.below(1 + rng.below(64))) + ")";
}

std::string some_statement(sqlite3* db, Rng& rng) {
  const std::vector<Column> columns = columns_of(db, "");
  const Column &column = pick(columns, rng), &other = pick(columns, rng);
  switch (rng.below(16)) {
    case 0:
      return "DELETE FROM " + column.table + " WHERE " + some_rows(column, rng);
    case 1:
      return "DELETE FROM " + column.table;
    case 2:
      return "INSERT OR REPLACE INTO " + column.table + " SELECT * FROM " + column.table + " LIMIT 1";
    case 3:
      return "ALTER TABLE " + column.table + " RENAME COLUMN " + column.name + " TO renamed";
    case 4:
      return "ALTER TABLE " + column.table + " ADD COLUMN added DEFAULT 1";
    case 5:
      return "CREATE VIEW v AS SELECT * FROM " + column.table;
    case 6:
      return "UPDATE OR REPLACE " + column.table + " SET " + column.name + " = (SELECT " + other.name + " FROM " +
             other.table + " LIMIT 1) WHERE " + some_rows(column, rng);
    default:
      return "UPDATE OR REPLACE " + column.table + " SET " + column.name + " = " + some_value(column.name, rng) +
             (rng.below(4) == 0 ? "" : " WHERE " + some_rows(column, rng));
  }
}

// Changes the bytes of one blob as libFuzzer likes. Its checksum, at its end or in a column crc32c, holds afterwards.
void change_blob(sqlite3* db, Rng& rng) {
  const std::vector<Column> columns = columns_of(db, "BLOB");
  const Column& column = pick(columns, rng);
  if (column.table.empty()) return;
  const std::string where = " WHERE " + some_rows(column, rng);
  const Rows found = rows_of(db, "SELECT hex(" + column.name + ") FROM " + column.table + where + " LIMIT 1");
  if (found.empty()) return;
  std::vector<std::uint8_t> blob;
  for (std::size_t i = 0; i + 1 < found[0][0].size(); i += 2)
    blob.push_back(static_cast<std::uint8_t>(std::stoi(found[0][0].substr(i, 2), nullptr, 16)));
  const std::size_t num_bytes = blob.size();
  blob.resize(num_bytes + 64);
  blob.resize(LLVMFuzzerMutate(blob.data(), num_bytes, blob.size()));
  const bool apart =
      !rows_of(db, "SELECT 1 FROM pragma_table_info('" + column.table + "') WHERE name = 'crc32c'").empty();
  if (!apart) mend_checksum(blob);
  const std::string sum = apart ? ", crc32c = " + std::to_string(crc32c(blob)) : "";
  const std::string sql = "UPDATE " + column.table + " SET " + column.name + " = ?1" + sum + where;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK) {
    sqlite3_bind_blob(statement, 1, blob.data(), static_cast<int>(blob.size()), SQLITE_STATIC);
    sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
}

// A file with a write-ahead log says so in bytes 18 and 19 of its header; in memory SQLite opens only one without.
std::string with_log(std::string file, bool log) {
  if (file.size() > 19) file[18] = file[19] = log ? 2 : 1;
  return file;
}

}  // namespace

std::string damaged_store(const std::string& file, std::uint64_t seed) {
  Rng rng(seed);
  const bool log = file.size() > 19 && file[18] == 2;
  const Connection db = open_copy(with_log(file, false));
  if (rng.below(3) == 0) {
    change_blob(db.get(), rng);
  } else {
    sqlite3_exec(db.get(), some_statement(db.get(), rng).c_str(), nullptr, nullptr, nullptr);
  }
  const std::string damaged = bytes_of(db.get());
  return damaged.empty() ? file : with_log(damaged, log);
}

}  // namespace spscope::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes,
                                               unsigned int seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, num_bytes, max_bytes);
  const std::string damaged = spscope::fuzz::damaged_store(spscope::fuzz::as_text({data, num_bytes}), seed / 4);
  if (damaged.size() > max_bytes) return LLVMFuzzerMutate(data, num_bytes, max_bytes);
  std::memcpy(data, damaged.data(), damaged.size());
  return damaged.size();
}
