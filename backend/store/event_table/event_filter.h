// What a question asks of events, as far as it can leave out chunks and events before SQLite looks at them.
//
// SQLite hands the terms of WHERE to a virtual table without converting the values to the type of the column, and tests
// every row itself afterwards. So an interval here may be wider than what was asked, and never narrower: a real number
// is rounded outwards, a text bounds nothing because SQLite would read "5" as 5, and NULL holds for no event.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "backend/store/sqlite/sqlite_api.h"

namespace spscope {

// The columns of the table `event`, in order.
enum class EventColumn : int {
  kEventId,
  kRunId,
  kTrackId,
  kRank,
  kLane,
  kSlot,
  kBeginNs,
  kEndNs,
  kOpId,
  kName,
  kCategory,
  kDepth,
  kUnfinished,
  kClamped,
  kModelled,
  kEntryNs,
  kTransferBeginNs,
  kTransferEndNs,
  kSequence,
  kBytes,
  kCommunicatorId,
  kPeer,
  kRepeat,
  kTrackKind,
  kCorrelationId,
  kWorkDetailId,
  kNameId,      // hidden: string.string_id
  kCategoryId,  // hidden: the number of the category
};
inline constexpr int kNumEventColumns = 28;

// The bit of a column in SQLite's mask of columns that are used.
constexpr std::uint32_t column_bit(EventColumn column) { return 1u << static_cast<int>(column); }

// Whole numbers from min to max; none when min > max.
struct Bounds {
  std::int64_t min = std::numeric_limits<std::int64_t>::min(), max = std::numeric_limits<std::int64_t>::max();

  bool empty() const { return min > max; }
  bool holds(std::int64_t x) const { return min <= x && x <= max; }
  // NULL is inside of nothing but the interval that bounds nothing.
  template <typename T>
  bool holds(const std::optional<T>& x) const {
    return x ? holds(std::int64_t{*x}) : *this == Bounds{};
  }
  bool meets(std::int64_t first, std::int64_t last) const { return first <= max && last >= min; }
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

struct EventBounds {
  Bounds event_id, run_id, track_id, rank, lane, begin_ns, end_ns, op_id;

  // The interval of a column; nullptr when the column has none.
  Bounds* of(int column);
  bool empty() const;
};

// The letter under which xBestIndex passes an operator of SQLite to xFilter; 0 for one that bounds nothing.
char operator_letter(int sqlite_operator);
// Narrows the interval to the numbers x for which "x operator value" may hold.
void narrow(Bounds& interval, char letter, sqlite3_value* value);

}  // namespace spscope
