#include "backend/store/sqlite/table_rows.h"

#include <fmt/format.h>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"

namespace spscope {
namespace {

// No file of this size has more rows: pages of a damaged one may refer to each other in a circle.
std::int64_t most_rows(Database& db) {
  constexpr std::int64_t kMinRowBytes = 4;  // of the smallest row in its page
  Statement bytes(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  return bytes.step() ? bytes.integer(0) / kMinRowBytes + 1 : 0;
}

}  // namespace

UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns,
                     const std::function<void(const Statement&)>& read) {
  UnreadRows unread;
  const auto leave_out = [&](const Error& error) {
    require_damage(error);
    if (!unread.cause) unread.cause = error;
  };
  Statement rows(db, fmt::format("SELECT {} FROM main.{} NOT INDEXED", columns, table));
  std::int64_t rows_left = -1;
  for (;;) {
    const Result<bool> stepped = capture([&] {
      if (!rows.step()) return false;
      if (rows_left < 0) rows_left = most_rows(db);
      if (rows_left-- == 0) throw Error(ErrorCode::kStoreCorrupt, "it has more rows than its file can hold");
      return true;
    });
    if (!stepped) {
      leave_out(stepped.error());
      unread.rest = true;
    }
    if (!stepped || !*stepped) return unread;
    if (const std::optional<Error> rejected = failure_of([&] { read(rows); })) {
      leave_out(*rejected);
      ++unread.bad_rows;
    }
  }
}

void require_damage(const Error& error) {
  const bool is_damage = error.code() != ErrorCode::kStoreWrite && error.code() != ErrorCode::kStoreVersion;
  if (memory_was_refused() || !is_damage) throw error;
}

}  // namespace spscope
