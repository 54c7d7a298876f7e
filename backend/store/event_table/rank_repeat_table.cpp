// The table rank_repeat, a row a repeat of a run on a rank: the rows of the table of this name, which shards have, and
// those that rank_repeat_chunk holds in finished files.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/store/event_table/event_table.h"
#include "backend/store/event_table/rank_repeat_row.h"
#include "backend/store/event_table/virtual_table.h"

namespace spscope {

namespace {

constexpr const char* kColumns =
    "CREATE TABLE rank_repeat ("
    " run_id INTEGER,"    // run
    " repeat INTEGER,"    // number of the repeat, from 0
    " rank INTEGER,"      // rank
    " begin_ns INTEGER,"  // when the rank began it: run clock, in a shard the raw clock of the rank
    " end_ns INTEGER)";   // when the rank ended it

enum Column { kRunId, kRepeat, kRank, kBegin, kEnd };

// Of which runs and ranks.
struct Bounds {
  Interval run_id, rank;
};

class RankRepeatCursor : public sqlite3_vtab_cursor {
 public:
  explicit RankRepeatCursor(EventVirtualTable& table)
      : sqlite3_vtab_cursor{},
        rows_(table.source.db(), fmt::format("SELECT {} FROM main.rank_repeat WHERE run_id BETWEEN ?1 AND ?2 AND "
                                             "rank BETWEEN ?3 AND ?4",
                                             kRankRepeatColumns)),
        // The last rank of a row is not before its first.
        chunks_(table.source.db(), fmt::format("SELECT {} FROM main.rank_repeat_chunk WHERE run_id BETWEEN ?1 AND ?2 "
                                               "AND rank + ranks > ?3 AND rank <= ?4 ORDER BY run_id, rank, repeat_min",
                                               kRankRepeatChunkColumns)) {}

  void filter(const Bounds& bounds) {
    const std::int64_t values[] = {bounds.run_id.min, bounds.run_id.max, bounds.rank.min, bounds.rank.max};
    rows_.start(values);
    chunks_.start(values);
    has_rows_ = true;
    passes_.clear();
    index_ = 0;
    rowid_ = -1;
    next();
  }

  void next() {
    ++rowid_;
    if (++index_ < passes_.size()) return;
    passes_.clear();
    index_ = 0;
    if (has_rows_ && (has_rows_ = rows_.step()))
      passes_.push_back(rank_repeat_of(rows_));
    else if (chunks_.step())
      for_each_of_row(chunks_, [&](const RankRepeat& pass) { passes_.push_back(pass); });
  }

  bool at_end() const { return passes_.empty(); }
  std::int64_t rowid() const { return rowid_; }
  void column(sqlite3_context* context, int column) const {
    const RankRepeat& pass = passes_[index_];
    switch (column) {
      case kRunId:
        return sqlite3_result_int64(context, static_cast<std::int64_t>(pass.run_id));
      case kRepeat:
        return sqlite3_result_int(context, pass.repeat);
      case kRank:
        return sqlite3_result_int(context, pass.rank);
      case kBegin:
        return sqlite3_result_int64(context, pass.begin_ns);
      default:
        return sqlite3_result_int64(context, pass.end_ns);
    }
  }

 private:
  BorrowedStatement rows_, chunks_;
  bool has_rows_ = false;
  std::vector<RankRepeat> passes_;  // those of the row at hand; empty at the end
  std::size_t index_ = 0;
  std::int64_t rowid_ = 0;
};

int connect(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char** message) {
  return connect_table(db, kColumns, table, message);
}
// Another function than xConnect, or the table would be there under the name of its module too.
int create(sqlite3* db, void* data, int argc, const char* const* argv, sqlite3_vtab** table, char** message) {
  return connect(db, data, argc, argv, table, message);
}

// Takes bounds on run and rank; idxStr gets two letters each. A rank has far fewer repeats than events, so joins begin
// with them.
int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  std::string pairs;
  double rows = 10'000;
  for (int i = 0; i < info->nConstraint && pairs.size() < 100; ++i) {
    const auto& term = info->aConstraint[i];
    const char letter = operator_letter(term.op);
    if (!term.usable || letter == 0 || (term.iColumn != kRunId && term.iColumn != kRank)) continue;
    pairs += static_cast<char>('a' + term.iColumn);
    pairs += letter;
    info->aConstraintUsage[i].argvIndex = static_cast<int>(pairs.size() / 2);
    rows *= letter == 'e' ? 0.1 : 0.5;
  }
  info->idxStr = sqlite3_mprintf("%s", pairs.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(rows, 1.0));
  info->estimatedCost = kMaxChunkEvents + 3 * rows;
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* pairs, int argc, sqlite3_value** argv) {
  return guarded(cursor->pVtab, [&] {
    Bounds bounds;
    for (int i = 0; i < argc; ++i)
      narrow(pairs[2 * i] - 'a' == kRunId ? bounds.run_id : bounds.rank, pairs[2 * i + 1], argv[i]);
    static_cast<RankRepeatCursor*>(cursor)->filter(bounds);
    return SQLITE_OK;
  });
}

}  // namespace

const sqlite3_module kRankRepeatModule = module_of<RankRepeatCursor>({create, connect, best_index, filter});

}  // namespace spscope
