#include "backend/store/event_table/event_filter.h"

#include <algorithm>
#include <cmath>

namespace spscope {

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(), kMax = std::numeric_limits<std::int64_t>::max();
constexpr Bounds kNothing = {1, 0};

// The nearest whole number of 64 bits to one that is whole already.
std::int64_t clamped(double whole) {
  if (whole >= 9223372036854775808.0) return kMax;
  if (whole < -9223372036854775808.0) return kMin;
  return static_cast<std::int64_t>(whole);
}

void at_least(Bounds& interval, std::int64_t x) { interval.min = std::max(interval.min, x); }
void at_most(Bounds& interval, std::int64_t x) { interval.max = std::min(interval.max, x); }

void narrow_to_integer(Bounds& interval, char letter, std::int64_t x) {
  if ((letter == 'l' && x == kMin) || (letter == 'g' && x == kMax))
    interval = kNothing;
  else if (letter == 'l')
    at_most(interval, x - 1);
  else if (letter == 'g')
    at_least(interval, x + 1);
  if (letter == 'e' || letter == 'L') at_most(interval, x);
  if (letter == 'e' || letter == 'G') at_least(interval, x);
}

void narrow_to_real(Bounds& interval, char letter, double x) {
  if (letter != 'g' && letter != 'G') at_most(interval, clamped(std::ceil(x)));
  if (letter != 'l' && letter != 'L') at_least(interval, clamped(std::floor(x)));
}

}  // namespace

Bounds* EventBounds::of(int column) {
  switch (static_cast<EventColumn>(column)) {
    case EventColumn::kEventId:
      return &event_id;
    case EventColumn::kRunId:
      return &run_id;
    case EventColumn::kTrackId:
      return &track_id;
    case EventColumn::kRank:
      return &rank;
    case EventColumn::kLane:
      return &lane;
    case EventColumn::kBeginNs:
      return &begin_ns;
    case EventColumn::kEndNs:
      return &end_ns;
    case EventColumn::kOpId:
      return &op_id;
    default:
      return nullptr;
  }
}

bool EventBounds::empty() const {
  return event_id.empty() || run_id.empty() || track_id.empty() || rank.empty() || lane.empty() || begin_ns.empty() ||
         end_ns.empty() || op_id.empty();
}

char operator_letter(int sqlite_operator) {
  switch (sqlite_operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return 'e';
    case SQLITE_INDEX_CONSTRAINT_LT:
      return 'l';
    case SQLITE_INDEX_CONSTRAINT_LE:
      return 'L';
    case SQLITE_INDEX_CONSTRAINT_GT:
      return 'g';
    case SQLITE_INDEX_CONSTRAINT_GE:
      return 'G';
    default:
      return 0;
  }
}

void narrow(Bounds& interval, char letter, sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
      interval = kNothing;
      break;
    case SQLITE_INTEGER:
      narrow_to_integer(interval, letter, sqlite3_value_int64(value));
      break;
    case SQLITE_FLOAT:
      narrow_to_real(interval, letter, sqlite3_value_double(value));
      break;
    default:
      break;
  }
}

}  // namespace spscope
