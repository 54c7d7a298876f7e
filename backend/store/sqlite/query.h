// One question in SQL to an open store, as `spscope sql` asks it.
//
// Only a single SELECT is answered. An authorizer refuses everything that could change a file, a setting or another
// database, views and triggers that came with the file are never run, and time and size are limited, also those of a
// single value: a function of SQLite that makes one cannot be interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spscope {

struct QueryLimits {
  std::int64_t max_rows = 1'000'000;
  std::int64_t max_ms = 60'000;
  std::int64_t max_bytes = 256 << 20;  // of all values together
  int max_value_bytes = 32 << 20;
};

enum class ValueKind : std::uint8_t { kNull, kInteger, kReal, kText };

struct QueryResult {
  std::vector<std::string> columns;
  // Values as text, of a real the shortest that reads back as the same number; absent for NULL; blobs as x'0102'.
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::vector<std::vector<ValueKind>> kinds;  // as rows
  bool truncated = false;                     // the answer was cut at max_rows or max_bytes
};

class Database;

// Throws Error (kStoreQuery): not a single SELECT, a syntax error, out of time.
QueryResult run_query(Database& db, const std::string& sql, const QueryLimits& limits = {});

}  // namespace spscope
