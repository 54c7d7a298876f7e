#include "backend/store/event_table/event_table.h"

#include <algorithm>

#include "backend/store/embedded_schema.h"
#include "backend/store/event_table/virtual_table.h"

namespace spscope {

namespace {

using Column = EventColumn;

constexpr const char* kColumns =
    "CREATE TABLE event ("
    " event_id INTEGER,"             // key, in order of writing
    " run_id INTEGER,"               // run, null for none
    " track_id INTEGER,"             // track
    " rank INTEGER,"                 // rank, null for none
    " lane INTEGER,"                 // lane of the rank, null for none; 0 computes
    " slot INTEGER,"                 // row within the lane
    " begin_ns INTEGER,"             // run clock
    " end_ns INTEGER,"               // run clock; of an event that had not ended, the end of its run
    " op_id INTEGER,"                // operation of the run's plan, -1 for none
    " name TEXT,"                    // what ran
    " category TEXT,"                // attend, local, transfer, kernel, copy, ...: enum_name has them all
    " depth INTEGER,"                // nesting depth, for display
    " unfinished INTEGER,"           // 1 when it had not ended
    " clamped INTEGER,"              // 1 when its begin or end lay too early and was moved
    " modelled INTEGER,"             // 1 when its times come from a model
    " entry_ns INTEGER,"             // of a transfer: when the rank entered
    " transfer_begin_ns INTEGER,"    // when the last partner had entered and data could move
    " transfer_end_ns INTEGER,"      // when the data had moved
    " sequence INTEGER,"             // number within the communicator: the post of the plan
    " bytes INTEGER,"                // bytes that this rank sent, or that a copy or memset moved or set
    " communicator_id INTEGER,"      // communicator
    " peer INTEGER,"                 // the only other rank, -1 when there are several
    " repeat INTEGER,"               // repeat of the run in which it began on its rank; null outside all
    " track_kind TEXT,"              // rank lane, device stream, host thread, foreign
    " correlation_id INTEGER,"       // of work: the number that it shares with the call that asked for it
    " work_detail_id INTEGER,"       // of work: key of work_detail
    " name_id INTEGER HIDDEN,"       // key of the name in string
    " category_id INTEGER HIDDEN)";  // number of the category

// Which repeat of its run a rank was in. Of runs that no rank recorded, by the repeats of all ranks.
class RepeatFinder {
 public:
  explicit RepeatFinder(sqlite3* db)
      : windows_(db,
                 "SELECT begin_ns, end_ns, repeat FROM main.rank_repeat WHERE run_id = ?1 AND ?2 BETWEEN rank AND rank "
                 "+ ranks "
                 "- 1 UNION ALL "
                 "SELECT begin_ns, end_ns, repeat FROM main.repeat WHERE run_id = ?1 AND NOT EXISTS "
                 "(SELECT 1 FROM main.rank_repeat WHERE run_id = ?1 AND ?2 BETWEEN rank AND rank + ranks - 1) ORDER BY "
                 "begin_ns, repeat") {}

  std::optional<std::int64_t> repeat_at(RunId run, std::optional<int> of_rank, std::int64_t time_ns) {
    if (run == kNoRun || !of_rank) return std::nullopt;
    const auto run_id = static_cast<std::int64_t>(run);
    const int rank = *of_rank;
    if (read_ != std::pair(run_id, rank)) read(run_id, rank);
    const auto later = std::upper_bound(ordered_.begin(), ordered_.end(), time_ns,
                                        [](std::int64_t ns, const Window& window) { return ns < window.begin_ns; });
    if (later == ordered_.begin() || std::prev(later)->end_ns < time_ns) return std::nullopt;
    return std::prev(later)->repeat;
  }

 private:
  struct Window {
    std::int64_t begin_ns, end_ns, repeat;
  };
  void read(std::int64_t run_id, int rank) {
    ordered_.clear();
    read_.reset();
    const std::int64_t values[] = {run_id, rank};
    for (windows_.start(values); windows_.step();)
      ordered_.push_back({windows_.integer(0), windows_.integer(1), windows_.integer(2)});
    read_ = {run_id, rank};
  }

  BorrowedStatement windows_;
  std::optional<std::pair<std::int64_t, int>> read_;  // what is in ordered_
  std::vector<Window> ordered_;
};

class EventCursor : public sqlite3_vtab_cursor {
 public:
  static constexpr const char* kTable = kColumns;
  explicit EventCursor(EventVirtualTable& table)
      : sqlite3_vtab_cursor{}, source_(table.source), scan_(source_, false) {}

  void filter(std::uint32_t used, const EventBounds& bounds) {
    source_.refresh();
    bounds_ = bounds;
    tests_ids_ = bounds.event_id != Bounds{};
    tests_begins_ = bounds.begin_ns != Bounds{};
    tests_ends_ = bounds.end_ns != Bounds{};
    tests_ops_ = bounds.op_id != Bounds{};
    used_ = used | (tests_begins_ ? column_bit(Column::kBeginNs) : 0) | (tests_ends_ ? column_bit(Column::kEndNs) : 0) |
            (tests_ops_ ? column_bit(Column::kOpId) : 0);
    if ((used_ & column_bit(Column::kRepeat)) != 0) {
      used_ |= column_bit(Column::kBeginNs);
      if (!repeats_) repeats_.emplace(source_.db());
    }
    scan_.start(bounds);
    chunk_.header.count = 0;
    index_ = -1;
    at_end_ = false;
    next();
  }

  void next() {
    for (;;) {
      while (++index_ < chunk_.header.count)
        if (may_match(index_)) return;
      if (!scan_.next(chunk_)) break;
      ChunkUnpacker(chunk_.header, chunk_.data).unpack(used_, values_);
      run_end_ns_ = source_.run_end_ns(chunk_.run);
      index_ = -1;
    }
    at_end_ = true;
    scan_.stop();
  }

  bool at_end() const { return at_end_; }
  std::int64_t rowid() const { return chunk_.event_id(index_); }
  void column(sqlite3_context* context, int index);

 private:
  bool may_match(int i) const {
    return (!tests_ids_ || bounds_.event_id.holds(chunk_.event_id(i))) &&
           (!tests_begins_ || bounds_.begin_ns.holds(begin_ns(i))) &&
           (!tests_ends_ || bounds_.end_ns.holds(end_ns(i))) &&
           (!tests_ops_ || bounds_.op_id.holds(values_.of(Column::kOpId)[static_cast<std::size_t>(i)]));
  }
  std::int64_t begin_ns(int i) const { return values_.of(Column::kBeginNs)[static_cast<std::size_t>(i)]; }
  // Whether events of the chunk have the column.
  bool has(Column column) const {
    if (column < Column::kEntryNs) return true;
    if (column == Column::kCorrelationId || column == Column::kWorkDetailId) return values_.kind == RecordKind::kWork;
    return values_.kind == RecordKind::kCollective || (values_.kind == RecordKind::kWork && column == Column::kBytes);
  }
  std::uint32_t flags(int i) const { return values_.flags[static_cast<std::size_t>(i)]; }
  std::int64_t end_ns(int i) const {
    if ((flags(i) & kEventUnfinished) == 0) return values_.of(Column::kEndNs)[static_cast<std::size_t>(i)];
    return std::max(begin_ns(i), run_end_ns_.value_or(begin_ns(i)));
  }

  EventSource& source_;
  ChunkScan scan_;
  std::uint32_t used_ = 0;
  EventBounds bounds_;
  bool tests_ids_ = false, tests_begins_ = false, tests_ends_ = false, tests_ops_ = false;
  ChunkRow chunk_;
  EventValues values_;
  std::optional<std::int64_t> run_end_ns_;
  std::optional<RepeatFinder> repeats_;  // for this one answer, during which the file stays as it is
  int index_ = -1;
  bool at_end_ = true;
};

void EventCursor::column(sqlite3_context* context, int index) {
  const auto column = static_cast<Column>(index);
  const auto flag = [&](std::uint32_t bit) { sqlite3_result_int(context, (flags(index_) & bit) != 0); };
  switch (column) {
    case Column::kEventId:
      return sqlite3_result_int64(context, rowid());
    case Column::kRunId:
      return result_run(context, chunk_.run);
    case Column::kTrackId:
      return sqlite3_result_int64(context, static_cast<std::int64_t>(chunk_.track.track_id));
    case Column::kRank:
      return result_number(context, chunk_.track.rank);
    case Column::kLane:
      return result_number(context, chunk_.track.lane);
    case Column::kSlot:
      return sqlite3_result_int(context, chunk_.track.slot);
    case Column::kEndNs:
      return sqlite3_result_int64(context, end_ns(index_));
    case Column::kName:
      return result_text(context, source_.name(values_.names[static_cast<std::size_t>(index_)]));
    case Column::kCategory:
      return result_text(context, source_.category(flags(index_)));
    case Column::kNameId:
      return sqlite3_result_int64(context, values_.names[static_cast<std::size_t>(index_)]);
    case Column::kCategoryId:
      return sqlite3_result_int(context, static_cast<int>(flags(index_) & 0xff));
    case Column::kDepth:
      return sqlite3_result_int(context, static_cast<int>(flags(index_) >> 8 & 0xff));
    case Column::kUnfinished:
      return flag(kEventUnfinished);
    case Column::kClamped:
      return flag(kEventClamped);
    case Column::kModelled:
      return flag(kEventModelled);
    case Column::kRepeat: {
      const auto repeat = repeats_->repeat_at(chunk_.run, chunk_.track.rank, begin_ns(index_));
      return repeat ? sqlite3_result_int64(context, *repeat) : sqlite3_result_null(context);
    }
    case Column::kTrackKind:
      return result_track_kind(context, chunk_.track.kind);
    default:
      break;
  }
  if (!has(column)) return sqlite3_result_null(context);
  const std::int64_t value = values_.of(column)[static_cast<std::size_t>(index_)];
  // Of work, 0 stands for what does not apply or is not known.
  if (value == 0 && values_.kind == RecordKind::kWork && column >= Column::kEntryNs)
    return sqlite3_result_null(context);
  sqlite3_result_int64(context, value);
}

// How many times fewer events a bound leaves, roughly: what the planner of SQLite compares joins by.
double share_left(Column column, char letter) {
  if (letter != 'e') return column == Column::kBeginNs || column == Column::kEndNs ? 0.2 : 0.5;
  return column == Column::kOpId || column == Column::kEventId || column == Column::kBeginNs ? 0.001 : 0.1;
}

// Chooses the bounds of EventBounds among the terms; idxStr gets two letters each, idxNum the columns that are used.
int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  std::string pairs;
  double rows = static_cast<double>(static_cast<EventVirtualTable*>(table)->source.events_at_most()) + 1;
  const double all = rows;
  EventBounds bounds;
  for (int i = 0; i < info->nConstraint && pairs.size() < 200; ++i) {
    const auto& term = info->aConstraint[i];
    const char letter = operator_letter(term.op);
    if (!term.usable || letter == 0 || bounds.of(term.iColumn) == nullptr) continue;
    pairs += static_cast<char>('a' + term.iColumn);
    pairs += letter;
    info->aConstraintUsage[i].argvIndex = static_cast<int>(pairs.size() / 2);
    info->aConstraintUsage[i].omit = 0;
    rows *= share_left(static_cast<Column>(term.iColumn), letter);
  }
  info->idxNum = static_cast<int>(info->colUsed & ((1u << kNumEventColumns) - 1));
  info->idxStr = sqlite3_mprintf("%s", pairs.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(rows, 1.0));
  // Looking at the bounds of all chunks, and a chunk at least.
  info->estimatedCost = all / kMaxChunkEvents + kMaxChunkEvents + 3 * rows;
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int used, const char* pairs, int argc, sqlite3_value** argv) {
  return guarded(cursor->pVtab, [&] {
    EventBounds bounds;
    for (int i = 0; i < argc; ++i) narrow(*bounds.of(pairs[2 * i] - 'a'), pairs[2 * i + 1], argv[i]);
    static_cast<EventCursor*>(cursor)->filter(static_cast<std::uint32_t>(used), bounds);
    return SQLITE_OK;
  });
}

}  // namespace

const sqlite3_module kEventModule = module_of<EventCursor>(best_index, filter);

int create_event_tables(sqlite3* db, std::string& error) {
  int code = sqlite3_create_module(db, "spscope_event", &kEventModule, nullptr);
  if (code == SQLITE_OK) code = sqlite3_create_module(db, "spscope_event_stats", &kEventStatsModule, nullptr);
  if (code == SQLITE_OK) code = sqlite3_create_module(db, "spscope_counter", &kCounterModule, nullptr);
  const auto run = [&](const char* sql) {
    if (code == SQLITE_OK) code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  };
  run("CREATE VIRTUAL TABLE temp.event USING spscope_event");
  run("CREATE VIRTUAL TABLE temp.event_stats USING spscope_event_stats");
  run("CREATE VIRTUAL TABLE temp.counter USING spscope_counter");
  for (const SqlText& view : embedded_views()) run(std::string(view.text).c_str());
  if (code != SQLITE_OK) error = sqlite3_errmsg(db);
  return code;
}

}  // namespace spscope
