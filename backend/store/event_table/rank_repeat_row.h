// Rows of rank_repeat and rank_repeat_chunk as the repeats that they hold: read in one place, whatever reads the row.
// `Row` is as in chunk_row.h, and has blob(column) too.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "backend/record/rank_records.h"
#include "backend/store/chunk/chunk_row.h"

namespace spscope {

// Ranks of one row of rank_repeat_chunk: a small row must not become many repeats.
inline constexpr int kMaxRanksOfRow = 16;

inline constexpr std::string_view kRankRepeatColumns = "run_id, repeat, rank, begin_ns, end_ns";
inline constexpr std::string_view kRankRepeatChunkColumns =
    "run_id, rank, ranks, 0 AS record_kind, record_version, codec, count, begin_min_ns, begin_max_ns, end_max_ns, "
    "repeat_min, repeat_max, crc32c, data";

template <typename Row>
RankRepeat rank_repeat_of(const Row& row) {
  const auto count = [&](int column) {
    return static_cast<int>(row.integer(column, 0, std::numeric_limits<int>::max()));
  };
  return {RunId{row.integer(0)}, count(1), count(2), row.integer(3), row.integer(4)};
}

// Calls `function` with each repeat of a row of rank_repeat_chunk. Throws Error (kStoreCorrupt).
template <typename Row, typename Function>
void for_each_of_row(const Row& row, const Function& function) {
  constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
  const RunId run{row.integer(0)};
  const auto ranks = static_cast<int>(row.integer(2, 1, kMaxRanksOfRow));
  const auto rank = static_cast<int>(row.integer(1, 0, kMaxInt - ranks));
  for (const int number : {10, 11}) row.integer(number, 0, kMaxInt);  // smallest and largest repeat
  std::vector<SpanEvent> passes;
  decode_spans(chunk_header(row, 3), row.blob(13), passes);
  for (const SpanEvent& pass : passes)
    for (int r = rank; r < rank + ranks; ++r)
      function(RankRepeat{run, static_cast<int>(pass.op_id), r, pass.begin_ns, pass.end_ns});
}

}  // namespace spscope
