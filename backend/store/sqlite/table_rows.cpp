// How reading goes on after damage. "The first row whose key is at least k" touches only the pages on the way from the
// root to k, so a corrupt page hides its own keys and no others. After an error at key k the keys k + 1, k + 2, k + 4,
// ... are tried until SQLite answers; a binary search between the last two finds the first key that it can answer. That
// is at most 126 statements a gap. Readable rows are missed only where they are fewer than those of the gap before
// them.
#include "backend/store/sqlite/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxKey = std::numeric_limits<std::int64_t>::max() / 4;  // of those that are looked for
constexpr std::int64_t kMaxGaps = 1000;
constexpr std::int64_t kMinRowBytes = 4;  // of the smallest row in its page

// The column by which reading can go on; "" when there is none.
std::string key_of(Database& db, std::string_view table) {
  if (capture([&] { return Statement(db, fmt::format("SELECT rowid FROM main.{} LIMIT 0", table)).step(); }))
    return "rowid";
  Statement first(db, "SELECT name FROM pragma_table_info(?) WHERE pk = 1 AND type = 'INTEGER'");
  first.bind(0, table);
  return first.step() ? first.text(0) : "";
}

std::string select_from(std::string_view table, std::string_view columns, const std::string& key) {
  if (key.empty()) return fmt::format("SELECT {} FROM main.{}", columns, table);
  return fmt::format("SELECT {}, {} FROM main.{} WHERE {} >= ? ORDER BY {}", columns, key, table, key, key);
}

// No file of this size has more rows: damaged pages may refer to each other in circles.
std::int64_t most_rows(Database& db) {
  Statement bytes(db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  return bytes.step() ? bytes.integer(0) / kMinRowBytes + 1 : 0;
}

class Reading {
 public:
  Reading(Database& db, std::string_view table, std::string_view columns,
          const std::function<void(const Statement&)>& read)
      : key_(key_of(db, table)),
        rows_(db, select_from(table, columns, key_)),
        key_at_(rows_.num_columns() - 1),
        read_(read),
        rows_left_(most_rows(db)) {}

  UnreadRows run() {
    std::optional<std::int64_t> from = std::numeric_limits<std::int64_t>::min();
    while (from && !read_from(*from)) {
      ++unread_.gaps;
      const bool goes_on = !key_.empty() && rows_left_ > 0 && unread_.gaps < kMaxGaps;
      from = goes_on ? next_readable(std::max<std::int64_t>(last_key_.value_or(-1), -1)) : std::nullopt;
    }
    return std::move(unread_);
  }

 private:
  void skip(const Error& error) {
    require_damage(error);
    if (!unread_.cause) unread_.cause = error;
  }

  Statement& ask(std::int64_t from) { return key_.empty() ? rows_.bind_all() : rows_.bind_all(from); }

  // Whether the end of the table was reached.
  bool read_from(std::int64_t from) {
    ask(from);
    for (;;) {
      const Result<bool> stepped = capture([&] { return rows_.step(); });
      if (!stepped) return skip(stepped.error()), false;
      if (!*stepped) return true;
      if (rows_left_-- <= 0) return skip(Error(ErrorCode::kStoreCorrupt, "it has more rows than its file can")), false;
      const auto taken = capture([&] { return take(), true; });
      if (taken) continue;
      skip(taken.error());
      ++unread_.bad_rows;
    }
  }

  void take() {
    if (!key_.empty()) {
      const std::int64_t key = rows_.integer(key_at_);
      if (last_key_ && (key_ == "rowid" ? key <= *last_key_ : key < *last_key_))
        throw Error(ErrorCode::kStoreCorrupt, fmt::format("row {} comes after row {}", key, *last_key_));
      last_key_ = key;
    }
    read_(rows_);
  }

  bool is_readable(std::int64_t key) {
    ask(key);
    const Result<bool> stepped = capture([&] { return rows_.step(); });
    if (!stepped) require_damage(stepped.error());
    rows_.reset();
    return stepped.has_value();
  }

  std::optional<std::int64_t> next_readable(std::int64_t after) {
    std::int64_t step = 1;
    for (; step <= kMaxKey - after && !is_readable(after + step);) step *= 2;
    if (step > kMaxKey - after) return std::nullopt;
    std::int64_t unreadable = after + step / 2, readable = after + step;
    while (readable - unreadable > 1) {
      const std::int64_t middle = unreadable + (readable - unreadable) / 2;
      (is_readable(middle) ? readable : unreadable) = middle;
    }
    return readable;
  }

  std::string key_;
  Statement rows_;
  int key_at_;
  const std::function<void(const Statement&)>& read_;
  std::int64_t rows_left_;
  std::optional<std::int64_t> last_key_;  // the largest so far
  UnreadRows unread_;
};

}  // namespace

void UnreadRows::require_none() const {
  if (cause) throw *cause;
}

UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns,
                     const std::function<void(const Statement&)>& read) {
  return Reading(db, table, columns, read).run();
}

void require_damage(const Error& error) {
  if (memory_was_refused() || error.code() == ErrorCode::kStoreWrite) throw error;
}

}  // namespace spscope
