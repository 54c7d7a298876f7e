// Rows that hold packed bytes, beside chunks of events, which events.h reads: whether they are what was stored. Bytes
// with a checksum or a hash are compared with it. Pictures of masks have neither: only their size and number are
// checked, and page_checksums.h does the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "backend/base/error.h"

namespace spscope {

class Database;

struct BadRow {
  std::string name;            // "lod_level pyramid_id 1 shift 12 first_bucket 0"
  std::int64_t first_key = 0;  // 1
  Error error;                 // what is wrong with it
};
using OnBadRow = std::function<void(const BadRow&)>;

// The tables that check_rows takes.
std::span<const std::string_view> checked_tables();
// Reads every row of the table and tells of those that are damaged. Returns how many rows there are. Throws Error: rows
// cannot be read at all.
std::int64_t check_rows(Database& db, std::string_view table, const OnBadRow& on_bad);
// Throws Error (kStoreCorrupt) that names the first damaged row of these tables and how many there are.
void require_sound_rows(Database& db, std::span<const std::string_view> tables);

}  // namespace spscope
