// How reading continues after damage. "The first row whose key is at least k" touches only the pages on the way from
// the root to k, so a corrupt page hides its own keys and no others. After an error at key k the keys k + 1, k + 2, k +
// 4,
// ... are tried until SQLite answers; a binary search between the last two finds the first key that it can answer. That
// is at most 126 statements a gap. Readable rows are missed only where they are fewer than those of the gap before
// them.
//
// Damaged pages may refer to each other in cycles; SQLite limits their depth to 20 levels, which is no limit in
// practice. Keys of a table increase, so a page that is read again yields rows out of order, and when it is read once
// more, the same rows: reading then continues after the largest key so far, as after an error.
#include "backend/store/sqlite/table_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"
#include "backend/store/sqlite/any_value.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxKey = std::numeric_limits<std::int64_t>::max() / 4;  // of those that are looked for
constexpr std::int64_t kMaxGaps = 1000;
constexpr std::int64_t kMinRowBytes = 4;  // of the smallest row in its page

// The columns by which a table is ordered.
struct KeyColumns {
  std::vector<std::string> names;
  bool is_number = true;  // the first: reading can go on behind one of its values
};

KeyColumns key_of(Database& db, std::string_view table) {
  KeyColumns key;
  if (!failure_of([&] { Statement(db, fmt::format("SELECT rowid FROM main.{} LIMIT 0", table)).step(); })) {
    key.names.emplace_back("rowid");
    return key;
  }
  Statement rows(db, "SELECT name, type = 'INTEGER' FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk");
  for (rows.bind(0, table); rows.step(); key.names.push_back(rows.text(0)))
    if (key.names.empty()) key.is_number = rows.flag(1);
  return key;
}

std::string select_from(std::string_view table, std::string_view columns, const KeyColumns& key) {
  const std::string select = fmt::format("SELECT {}, {} FROM main.{}", columns, fmt::join(key.names, ", "), table);
  return key.is_number ? fmt::format("{} WHERE {} >= ? ORDER BY {}", select, key.names[0], key.names[0]) : select;
}

// The key of a row. Numbers come before texts, which are compared byte by byte, as SQLite orders them.
using RowKey = std::vector<std::variant<std::int64_t, std::string>>;

// No file of this size has more rows.
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
        key_at_(rows_.num_columns() - static_cast<int>(key_.names.size())),
        read_(read),
        rows_left_(most_rows(db)) {}

  UnreadRows run() {
    std::optional<std::int64_t> from = std::numeric_limits<std::int64_t>::min();
    while (from && !read_from(*from)) {
      ++unread_.gaps;
      const bool goes_on = key_.is_number && rows_left_ > 0 && unread_.gaps < kMaxGaps;
      const std::int64_t last = last_key_.empty() ? -1 : std::get<std::int64_t>(last_key_.front());
      from = goes_on ? next_readable(std::max<std::int64_t>(last, -1)) : std::nullopt;
    }
    return std::move(unread_);
  }

 private:
  void skip(const Error& error) {
    require_damage(error);
    if (!unread_.cause) unread_.cause = error;
  }

  Statement& ask(std::int64_t from) { return key_.is_number ? rows_.bind_all(from) : rows_.bind_all(); }

  // Whether the end of the table was reached.
  bool read_from(std::int64_t from) {
    ask(from);
    astray_ = 0;
    is_circle_ = false;
    for (;;) {
      const Result<bool> stepped = capture([&] { return rows_.step(); });
      if (!stepped) {
        skip(stepped.error());
        return false;
      }
      if (!*stepped) return true;
      if (rows_left_-- <= 0) {
        skip(Error(ErrorCode::kStoreCorrupt, "it has more rows than its file can hold"));
        return false;
      }
      const std::optional<Error> rejected = failure_of([&] { take(); });
      if (!rejected) continue;
      skip(*rejected);
      ++unread_.bad_rows;
      if (is_circle_) return false;
    }
  }

  void read_key() {
    key_at_row_.clear();
    for (int column = key_at_; column < rows_.num_columns(); ++column) {
      const AnyValue value = any_value(rows_, column);
      const auto* text = std::get_if<std::string_view>(&value);
      if (text != nullptr && !(key_.is_number && column == key_at_))
        key_at_row_.emplace_back(std::string(*text));
      else
        key_at_row_.emplace_back(rows_.integer(column));
    }
  }

  void take() {
    read_key();
    if (!last_key_.empty() && key_at_row_ <= last_key_) {
      look_for_circle();
      throw Error(ErrorCode::kStoreCorrupt, "a row comes after one with a larger key");
    }
    last_key_ = key_at_row_;
    astray_ = 0;
    read_(rows_);
  }

  // Among rows that are out of order, one after the other, the keys of 1, 2, 4, ... are kept until the next of these
  // (R. P. Brent's way to find a cycle): a page that is met again has one of them.
  void look_for_circle() {
    is_circle_ = astray_ > 0 && key_at_row_ == astray_key_;
    if (std::has_single_bit(++astray_)) astray_key_ = key_at_row_;
  }

  // Whether SQLite finds a row from there on that comes after all before, or the end.
  bool is_readable(std::int64_t key) {
    ask(key);
    const Result<bool> stepped = capture([&] {
      if (!rows_.step()) return true;
      read_key();
      return last_key_.empty() || key_at_row_ > last_key_;
    });
    if (!stepped) require_damage(stepped.error());
    rows_.reset();
    return stepped && *stepped;
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

  KeyColumns key_;
  Statement rows_;
  int key_at_;  // column
  const std::function<void(const Statement&)>& read_;
  std::int64_t rows_left_;
  RowKey key_at_row_, last_key_;  // of the row at hand; the largest so far
  std::uint64_t astray_ = 0;      // rows out of order since the last in order
  RowKey astray_key_;             // of one of these
  bool is_circle_ = false;
  UnreadRows unread_;
};

}  // namespace

UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns,
                     const std::function<void(const Statement&)>& read) {
  return Reading(db, table, columns, read).run();
}

void require_damage(const Error& error) {
  if (memory_was_refused() || error.code() == ErrorCode::kStoreWrite) throw error;
}

}  // namespace spscope
