// The table-valued function event_stats(begin, end): sums over the events of a window by run, rank, kind of track, name
// and category. The kind keeps a device stream that names a rank apart from the lanes of the rank.
//
// It walks the chunks once, adds up plain columns, and makes rows only of the sums. When one name is asked for, only
// the times of chunks that have it are unpacked.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "backend/base/flat_map.h"
#include "backend/record/events.h"
#include "backend/store/event_table/event_table.h"
#include "backend/store/event_table/virtual_table.h"

namespace spscope {

namespace {

constexpr const char* kColumns =
    "CREATE TABLE event_stats ("
    " run_id INTEGER,"           // run, null for none
    " rank INTEGER,"             // rank, null for none
    " track_kind TEXT,"          // rank lane, device stream, host thread, foreign
    " name TEXT,"                // what ran
    " category TEXT,"            // attend, local, transfer, kernel, copy, ...: enum_name has them all
    " count INTEGER,"            // events in the window that ended
    " total_ns INTEGER,"         // their whole durations, also what lies outside the window
    " min_ns INTEGER,"           // shortest of these
    " max_ns INTEGER,"           // longest
    " first_begin_ns INTEGER,"   // when the first began
    " last_end_ns INTEGER,"      // when the last ended
    " unfinished INTEGER,"       // events in the window that had not ended; they count nowhere else
    " begin_ns INTEGER HIDDEN,"  // the window: events that begin before its end and end after its begin, and instants
    " end_ns INTEGER HIDDEN)";   // at its begin; the whole run when it is left out

enum Column {
  kRunId,
  kRank,
  kTrackKind,
  kName,
  kCategory,
  kCount,
  kTotal,
  kMin,
  kMax,
  kFirst,
  kLast,
  kUnfinished,
  kBegin,
  kEnd
};

constexpr std::uint32_t kTimes = column_bit(EventColumn::kBeginNs);  // ends come with them
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

struct Sum {
  RunId run = kNoRun;
  std::optional<int> rank;
  TrackKind kind = TrackKind::kRankLane;
  NameId name = 0;
  std::uint32_t category = 0;
  std::int64_t count = 0, total_ns = 0, min_ns = kNeverEnded, max_ns = kLowest, first_ns = kNeverEnded,
               last_ns = kLowest;
  std::int64_t unfinished = 0;

  void add(std::int64_t begin_ns, std::int64_t end_ns) {
    // Only a damaged file has durations that do not fit.
    const std::int64_t duration_ns =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(begin_ns));
    if (__builtin_add_overflow(total_ns, duration_ns, &total_ns)) total_ns = kNeverEnded;
    ++count;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
  }
};

// 64 bits of the key of a sum (multiplicative mixing of SplitMix64).
std::int64_t key_hash(const Sum& sum) {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(sum.run), static_cast<std::uint64_t>(sum.rank.value_or(-1)),
        static_cast<std::uint64_t>(sum.kind), std::uint64_t{sum.name}, std::uint64_t{sum.category}}) {
    hash = (hash ^ part) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
  }
  return static_cast<std::int64_t>(hash);
}

// What the arguments and the WHERE of a question leave.
struct StatsQuery {
  EventBounds bounds;
  EventWindow window;
  std::optional<std::string> name;
};

// Where the sum of each name and category is. Almost all names have small keys, which index a table; those of a damaged
// chunk may be any.
class SumPlaces {
 public:
  static constexpr std::uint32_t kNone = 0;
  // A number of the caller's that is kNone at first.
  std::uint32_t& at(NameId name, std::uint32_t category) {
    const std::uint64_t key = static_cast<std::uint64_t>(name) << 8 | category;
    if (name >= kMaxTabled || category >= kCategories) {
      std::uint32_t* known = others_.find(key);
      return known != nullptr ? *known : others_.insert(key, kNone);
    }
    const std::size_t index = name * kCategories + category;
    if (index >= tabled_.size()) tabled_.resize(std::min(std::max(index + 1, 2 * tabled_.size()), kMaxPlaces), kNone);
    return tabled_[index];
  }

 private:
  static constexpr std::uint32_t kMaxTabled = 1 << 12, kCategories = 16;
  static constexpr std::size_t kMaxPlaces = kMaxTabled * kCategories;  // 256 KiB
  std::vector<std::uint32_t> tabled_;
  FlatMap<std::uint32_t> others_;
};

class StatsCursor : public sqlite3_vtab_cursor {
 public:
  static constexpr const char* kTable = kColumns;
  explicit StatsCursor(EventVirtualTable& table)
      : sqlite3_vtab_cursor{}, source_(table.source), scan_(source_, false) {}

  void filter(const StatsQuery& query) {
    source_.refresh();
    window_ = query.window;
    sums_.clear();
    places_.clear();
    index_ = 0;
    only_.reset();
    if (query.name) only_ = source_.names_with_text(*query.name);
    if (only_ && only_->empty()) return;
    EventBounds bounds = query.bounds;
    if (window_.end_ns == kLowest) return;
    if (window_.end_ns != kNeverEnded) bounds.begin_ns.max = window_.end_ns - 1;
    bounds.end_ns.min = window_.begin_ns;
    for (scan_.start(bounds); scan_.next(chunk_);) add_chunk();
    scan_.stop();
    std::sort(sums_.begin(), sums_.end(), [](const Sum& a, const Sum& b) {
      return std::tie(a.run, a.rank, a.kind, a.name, a.category) < std::tie(b.run, b.rank, b.kind, b.name, b.category);
    });
  }

  void next() { ++index_; }
  bool at_end() const { return index_ >= sums_.size(); }
  // The same in every scan, whatever it is narrowed to: SQLite unites the scans of `a OR b` by it.
  std::int64_t rowid() const { return key_hash(sums_[index_]); }
  void column(sqlite3_context* context, int column);

 private:
  void add_chunk();
  Sum& sum_of(SumPlaces& places, NameId name, std::uint32_t category);

  EventSource& source_;
  ChunkScan scan_;
  ChunkRow chunk_;
  EventValues values_;
  EventWindow window_;
  std::optional<std::vector<NameId>> only_;
  std::vector<Sum> sums_;
  // For each run, rank and kind of track: place in sums_ + 1.
  std::map<std::tuple<RunId, std::optional<int>, TrackKind>, SumPlaces> places_;
  std::vector<std::uint32_t> hits_;  // events of the chunk at hand that have the name
  std::size_t index_ = 0;
};

Sum& StatsCursor::sum_of(SumPlaces& places, NameId name, std::uint32_t category) {
  std::uint32_t& place = places.at(name, category);
  if (place == SumPlaces::kNone) {
    const Track& track = chunk_.track;
    sums_.push_back({.run = chunk_.run, .rank = track.rank, .kind = track.kind, .name = name, .category = category});
    place = static_cast<std::uint32_t>(sums_.size());
  }
  return sums_[place - 1];
}

void StatsCursor::add_chunk() {
  ChunkUnpacker unpacker(chunk_.header, chunk_.data);
  hits_.clear();
  if (only_) {
    unpacker.columns().find_names(*only_, hits_);
    if (hits_.empty()) return;
    unpacker.unpack(kTimes, values_);
  } else {
    unpacker.unpack(kTimes | column_bit(EventColumn::kName) | column_bit(EventColumn::kCategory), values_);
    hits_.resize(values_.names.size());
    std::iota(hits_.begin(), hits_.end(), 0u);
  }
  SumPlaces& places = places_[{chunk_.run, chunk_.track.rank, chunk_.track.kind}];
  const std::vector<std::int64_t>&begins = values_.of(EventColumn::kBeginNs), &ends = values_.of(EventColumn::kEndNs);
  const bool whole = window_.begin_ns == kLowest && window_.end_ns == kNeverEnded;
  for (const std::uint32_t i : hits_) {
    if (!whole && !window_.holds({.begin_ns = begins[i], .end_ns = ends[i]})) continue;
    const auto read = [&](ChunkColumns::Column column, const std::vector<std::uint32_t>& all) {
      return only_ ? static_cast<std::uint32_t>(unpacker.columns().value(column, static_cast<int>(i))) : all[i];
    };
    const std::uint32_t flags = read(ChunkColumns::kFlags, values_.flags);
    Sum& sum = sum_of(places, read(ChunkColumns::kName, values_.names), flags & 0xff);
    if (flags & kEventUnfinished)
      ++sum.unfinished;
    else
      sum.add(begins[i], ends[i]);
  }
}

void StatsCursor::column(sqlite3_context* context, int column) {
  const Sum& sum = sums_[index_];
  const auto known = [&](std::int64_t value) {
    sum.count > 0 ? sqlite3_result_int64(context, value) : sqlite3_result_null(context);
  };
  switch (column) {
    case kRunId:
      return result_run(context, sum.run);
    case kRank:
      return result_number(context, sum.rank);
    case kTrackKind:
      return result_track_kind(context, sum.kind);
    case kName:
      return result_text(context, source_.name(sum.name));
    case kCategory:
      return result_text(context, source_.category(sum.category));
    case kCount:
      return sqlite3_result_int64(context, sum.count);
    case kTotal:
      return sqlite3_result_int64(context, sum.total_ns);
    case kMin:
      return known(sum.min_ns);
    case kMax:
      return known(sum.max_ns);
    case kFirst:
      return known(sum.first_ns);
    case kLast:
      return known(sum.last_ns);
    case kUnfinished:
      return sqlite3_result_int64(context, sum.unfinished);
    case kBegin:
      return sqlite3_result_int64(context, window_.begin_ns);
    default:
      return sqlite3_result_int64(context, window_.end_ns);
  }
}

// Takes "column = value" of the window, which are the arguments of the function, and of run, rank and name. idxStr has
// the letter of each column.
int best_index(sqlite3_vtab* table, sqlite3_index_info* info) {
  std::string columns;
  double left = 1;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& term = info->aConstraint[i];
    const bool argument = term.iColumn == kBegin || term.iColumn == kEnd;
    const bool taken = argument || term.iColumn == kRunId || term.iColumn == kRank || term.iColumn == kName;
    if (term.op != SQLITE_INDEX_CONSTRAINT_EQ || !taken || columns.size() > 100) continue;
    if (!term.usable && argument) return SQLITE_CONSTRAINT;
    if (!term.usable || (term.iColumn == kName && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0))
      continue;
    columns += static_cast<char>('a' + term.iColumn);
    info->aConstraintUsage[i].argvIndex = static_cast<int>(columns.size());
    info->aConstraintUsage[i].omit = argument;
    left *= 0.5;
  }
  info->idxStr = sqlite3_mprintf("%s", columns.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedRows = 200;
  info->estimatedCost =
      kMaxChunkEvents + left * static_cast<double>(static_cast<EventVirtualTable*>(table)->source.events_at_most());
  return SQLITE_OK;
}

// The window's begin or end. NULL stands for the whole run.
void take_argument(std::int64_t& time_ns, sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) return;
  if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
    throw Error(ErrorCode::kStoreQuery, "event_stats takes whole nanoseconds: event_stats(begin_ns, end_ns)");
  time_ns = sqlite3_value_int64(value);
}

StatsQuery query_of(const char* columns, int argc, sqlite3_value** argv) {
  StatsQuery query;
  for (int i = 0; i < argc; ++i) {
    const int column = columns[i] - 'a';
    if (column == kBegin) take_argument(query.window.begin_ns, argv[i]);
    if (column == kEnd) take_argument(query.window.end_ns, argv[i]);
    if (column == kRunId) narrow(query.bounds.run_id, 'e', argv[i]);
    if (column == kRank) narrow(query.bounds.rank, 'e', argv[i]);
    // Values of other types are converted by SQLite, which tests every row again.
    if (column == kName && sqlite3_value_type(argv[i]) == SQLITE_TEXT)
      query.name.emplace(reinterpret_cast<const char*>(sqlite3_value_text(argv[i])),
                         static_cast<std::size_t>(sqlite3_value_bytes(argv[i])));
  }
  return query;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* columns, int argc, sqlite3_value** argv) {
  return guarded(cursor->pVtab, [&] {
    static_cast<StatsCursor*>(cursor)->filter(query_of(columns, argc, argv));
    return SQLITE_OK;
  });
}

}  // namespace

const sqlite3_module kEventStatsModule = module_of<StatsCursor>(best_index, filter);

}  // namespace spscope
