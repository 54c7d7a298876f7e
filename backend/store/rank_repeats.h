// When ranks began and ended each repeat of a run: the table rank_repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "backend/record/rank_records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// The columns that rank_repeat_of reads. It throws Error (kStoreCorrupt) for a row that makes no sense.
inline constexpr std::string_view kRankRepeatColumns = "run_id, repeat, rank, begin_ns, end_ns, ranks";
RankRepeat rank_repeat_of(const Statement& row);

// The first begin of a rank's repeats, or of all ranks', on the clock of the file; rows that cannot be read are
// skipped.
std::optional<std::int64_t> first_rank_repeat_ns(Database& db, std::optional<int> rank);

// Gives each row of `repeat` the time from the first begin to the last end of its ranks. Of the runs that ranks
// recorded, a repeat that not all ranks of its plan have a row of has no timeline, since it is not known which events
// are its own; one that no rank has a row of comes after all before it.
void set_repeat_windows(Database& db, const std::function<bool(RunId)>& recorded);

}  // namespace spscope
