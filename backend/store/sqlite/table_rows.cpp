// Going on behind damage. A b-tree answers "the first row whose key is at least k" by looking only at the pages on the
// way to k, so a page that cannot be read hides the keys of that page and no others. After a fault at key g, keys
// g + 1, g + 2, ... are asked for, one by one at first and then in steps of an eighth of the way that was made, until
// one of them is answered: a page of readable rows is missed only when it spans less than an eighth of the damage
// before it. With a key of two numbers the second is tried to its end, then the first.
#include "backend/store/sqlite/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "backend/base/memory_refused.h"
#include "backend/base/result.h"

namespace spscope {

namespace {

constexpr std::int64_t kSingleSteps = 1024;
constexpr std::int64_t kWholeSteps = 4;  // first numbers of which the second is tried too
constexpr std::int64_t kMaxFirstKey = std::numeric_limits<std::int64_t>::max() / 2;
constexpr std::int64_t kMaxSecondKey = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMinRowBytes = 4;  // what the smallest row takes of a page

// Columns by which reading can go on: none, one or two.
std::vector<std::string> keys_of(Database& db, std::string_view table) {
  if (capture([&] { return Statement(db, fmt::format("SELECT rowid FROM main.{} LIMIT 0", table)).step(); }))
    return {"rowid"};
  std::vector<std::string> keys;
  Statement columns(db, "SELECT name, type FROM pragma_table_info(?) WHERE pk BETWEEN 1 AND 2 ORDER BY pk");
  columns.bind(0, table);
  while (columns.step() && columns.text(1) == "INTEGER") keys.push_back(columns.text(0));
  return keys;
}

std::string select_from(std::string_view table, std::string_view columns, const std::vector<std::string>& keys) {
  if (keys.empty()) return fmt::format("SELECT {} FROM main.{}", columns, table);
  const std::string order = keys.size() == 1 ? keys[0] : keys[0] + ", " + keys[1];
  return fmt::format("SELECT {}, {} FROM main.{} WHERE ({}) >= ({}) ORDER BY {}", columns, order, table, order,
                     keys.size() == 1 ? "?" : "?, ?", order);
}

std::int64_t longer(std::int64_t step) { return step + (step < kSingleSteps ? 1 : step / 8); }

struct Key {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t second = std::numeric_limits<std::int64_t>::min();
  bool operator<(const Key& other) const { return std::tie(first, second) < std::tie(other.first, other.second); }
};

class Reading {
 public:
  Reading(Database& db, std::string_view table, std::string_view columns, bool tolerant,
          const std::function<void(const Statement&)>& read)
      : keys_(keys_of(db, table)),
        rows_(db, select_from(table, columns, keys_)),
        key_at_(rows_.num_columns() - static_cast<int>(keys_.size())),
        tolerant_(tolerant),
        read_(read),
        rows_left_(most_rows(db)) {}

  UnreadRows run() {
    Key at;
    while (!read_from(at)) {
      const std::optional<Key> next = keys_.empty() || rows_left_ <= 0 ? std::nullopt : next_readable(at);
      KeyRange& gap = unread_.keys.emplace_back();
      gap.first = at.first;
      if (!next) break;
      gap.last = next->first;
      at = *next;
    }
    return std::move(unread_);
  }

 private:
  void pass_over(const Error& error, std::int64_t& count) {
    if (!tolerant_) throw error;
    require_damage(error);
    if (!unread_.cause) unread_.cause = error;
    ++count;
  }

  Statement& ask(const Key& from) {
    if (keys_.size() == 2) return rows_.bind_all(from.first, from.second);
    return keys_.empty() ? rows_.bind_all() : rows_.bind_all(from.first);
  }

  Key key() const {
    Key key;
    if (!keys_.empty()) key.first = rows_.integer(key_at_);
    key.second = keys_.size() == 2 ? rows_.integer(key_at_ + 1) : 0;
    return key;
  }

  void take(Key& at) {
    const Key here = key();
    if (here < at) {  // keys ascend: an earlier one was damaged, and says nothing of what lies before it
      pass_over(Error(ErrorCode::kStoreCorrupt, "its keys are out of order"), unread_.bad_rows);
      unread_.keys.emplace_back();
    }
    at = std::max(at, here);
    read_(rows_);
  }

  // Whether the end of the table was reached. `at` then is the largest key that was met, or what it was.
  bool read_from(Key& at) {
    ask(at);
    for (;; --rows_left_) {
      const auto row = capture([&] { return rows_.step(); });
      if (Result<bool> stepped = row; stepped && !*stepped) return true;
      if (!row || (tolerant_ && rows_left_ <= 0)) {
        pass_over(row ? Error(ErrorCode::kStoreCorrupt, "it has more rows than it has room for") : row.error(),
                  unread_.gaps);
        rows_.reset();
        return false;
      }
      const auto taken = capture([&] {
        take(at);
        return true;
      });
      if (!taken) {
        pass_over(taken.error(), unread_.bad_rows);
        const auto here = capture([&] { return key(); });
        unread_.keys.push_back(here && !keys_.empty() ? KeyRange{here->first, here->first} : KeyRange{});
      }
    }
  }

  // Whether rows at `from` or behind it can be read. Where there are none, they can, and reading ends.
  bool is_readable(const Key& from) {
    ask(from);
    const auto row = capture([&] { return rows_.step(); });
    if (!row) require_damage(row.error());
    rows_.reset();
    return row.has_value();
  }

  std::optional<Key> next_second(std::int64_t first, std::int64_t after) {
    after = std::max<std::int64_t>(after, -1);
    for (std::int64_t step = 1; step <= kMaxSecondKey - after; step = longer(step))
      if (const Key next{first, after + step}; is_readable(next)) return next;
    return std::nullopt;
  }

  std::optional<Key> next_readable(const Key& after) {
    if (keys_.size() == 2 && after.first >= 0)
      if (const auto next = next_second(after.first, after.second)) return next;
    const std::int64_t first = std::max<std::int64_t>(after.first, -1);  // no key of ours is smaller
    for (std::int64_t step = 1; step <= kMaxFirstKey - first; step = longer(step)) {
      if (const Key next{first + step, -1}; is_readable(next)) return next;
      if (keys_.size() == 2 && step <= kWholeSteps)
        if (const auto next = next_second(first + step, -1)) return next;
    }
    return std::nullopt;
  }

  std::vector<std::string> keys_;
  Statement rows_;
  int key_at_;
  bool tolerant_;
  const std::function<void(const Statement&)>& read_;
  std::int64_t rows_left_;
  UnreadRows unread_;
};

}  // namespace

std::int64_t most_rows(const Database& db) {
  std::int64_t bytes = 0;
  for (const std::string& file : {db.path(), db.path() + "-wal"}) {
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(file, absent);
    if (!absent) bytes += static_cast<std::int64_t>(size);
  }
  return bytes / kMinRowBytes + 1;
}

UnreadRows read_rows(Database& db, std::string_view table, std::string_view columns, bool tolerant,
                     const std::function<void(const Statement&)>& read) {
  return Reading(db, table, columns, tolerant, read).run();
}

void require_damage(const Error& error) {
  if (memory_was_refused() || error.code() == ErrorCode::kStoreWrite) throw error;
}

}  // namespace spscope
