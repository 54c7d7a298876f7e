// The table counter: a row for each sample of each track that is a counter. Bounds on track_id, run_id and time_ns
// leave out whole chunks.
#include <vector>

#include "backend/store/event_table/event_table.h"
#include "backend/store/event_table/virtual_table.h"

namespace spscope {

namespace {

constexpr const char* kColumns =
    "CREATE TABLE counter ("
    " track_id INTEGER,"  // track, which says what is counted, and where
    " run_id INTEGER,"    // run, null for none
    " name TEXT,"         // what is counted
    " time_ns INTEGER,"   // run clock
    " value REAL)";       // what it was

enum Column { kTrackId, kRunId, kName, kTime, kValue };

class CounterCursor : public sqlite3_vtab_cursor {
 public:
  static constexpr const char* kTable = kColumns;
  explicit CounterCursor(EventVirtualTable& table)
      : sqlite3_vtab_cursor{}, source_(table.source), scan_(source_, true) {}

  void filter(const EventBounds& bounds) {
    source_.refresh();
    samples_.clear();
    index_ = 0;
    scan_.start(bounds);
    next();
  }

  void next() {
    if (++index_ < samples_.size()) return;
    index_ = 0;
    samples_.clear();
    if (scan_.next(chunk_))
      decode_counters(chunk_.header, chunk_.data, samples_);
    else
      scan_.stop();
  }

  bool at_end() const { return samples_.empty(); }
  // The same in every scan: SQLite unites the scans of `a OR b` by it.
  std::int64_t rowid() const { return chunk_.event_id(static_cast<int>(index_)); }
  void column(sqlite3_context* context, int column) const {
    switch (column) {
      case kTrackId:
        return sqlite3_result_int64(context, static_cast<std::int64_t>(chunk_.track.track_id));
      case kRunId:
        return result_run(context, chunk_.run);
      case kName:
        return result_text(context, &chunk_.track.name);
      case kTime:
        return sqlite3_result_int64(context, samples_[index_].time_ns);
      default:
        return sqlite3_result_double(context, samples_[index_].value);
    }
  }

 private:
  EventSource& source_;
  ChunkScan scan_;
  ChunkRow chunk_;
  std::vector<CounterSample> samples_;  // of the chunk at hand; empty at the end
  std::size_t index_ = 0;
};

// The bounds of chunks that stand for a column; nullptr when it has none. A sample begins and ends at its time.
Bounds* bounds_of(EventBounds& bounds, int column) {
  if (column == kTrackId) return &bounds.track_id;
  if (column == kRunId) return &bounds.run_id;
  return column == kTime ? &bounds.begin_ns : nullptr;
}

// idxStr gets two letters for each bound; SQLite tests every row again.
int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  std::string pairs;
  double rows = static_cast<double>(static_cast<EventVirtualTable*>(table)->source.events_at_most()) + 1;
  EventBounds bounds;
  for (int i = 0; i < info->nConstraint && pairs.size() < 100; ++i) {
    const auto& term = info->aConstraint[i];
    const char letter = operator_letter(term.op);
    if (!term.usable || letter == 0 || bounds_of(bounds, term.iColumn) == nullptr) continue;
    pairs += static_cast<char>('a' + term.iColumn);
    pairs += letter;
    info->aConstraintUsage[i].argvIndex = static_cast<int>(pairs.size() / 2);
    rows *= letter == 'e' ? 0.1 : 0.5;
  }
  info->idxStr = sqlite3_mprintf("%s", pairs.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedRows = static_cast<sqlite3_int64>(rows);
  info->estimatedCost = kMaxChunkEvents + 2 * rows;
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* pairs, int argc, sqlite3_value** argv) {
  return guarded(cursor->pVtab, [&] {
    EventBounds bounds;
    for (int i = 0; i < argc; ++i) narrow(*bounds_of(bounds, pairs[2 * i] - 'a'), pairs[2 * i + 1], argv[i]);
    static_cast<CounterCursor*>(cursor)->filter(bounds);
    return SQLITE_OK;
  });
}

}  // namespace

const sqlite3_module kCounterModule = module_of<CounterCursor>(best_index, filter);

}  // namespace spscope
