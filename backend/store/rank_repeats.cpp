#include "backend/store/rank_repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/store/sqlite/table_rows.h"

namespace spscope {

namespace {

constexpr std::int64_t kFarNs = std::int64_t{1} << 61;  // no time of a run; times of damaged files stay below twice it

}  // namespace

RankRepeat rank_repeat_of(const Statement& row) {
  return {RunId{row.integer(0)}, row.count(1), row.count(2), row.integer(3), row.integer(4), row.count(5)};
}

std::optional<std::int64_t> first_rank_repeat_ns(Database& db, std::optional<int> rank) {
  std::optional<std::int64_t> first_ns;
  read_rows(db, "rank_repeat", kRankRepeatColumns, [&](const Statement& row) {
    const RankRepeat repeat = rank_repeat_of(row);
    if (!rank || repeat.holds(*rank)) first_ns = std::min(first_ns.value_or(repeat.begin_ns), repeat.begin_ns);
  });
  return first_ns;
}

void set_repeat_windows(Database& db, const std::function<bool(RunId)>& recorded) {
  struct Row {
    std::int64_t run, repeat, begin_ns, end_ns;
    bool has_timeline;
  };
  std::vector<Row> rows;
  Statement read(db,
                 "WITH known AS (SELECT run_id, repeat, min(begin_ns) AS begin_ns, max(end_ns) AS end_ns, "
                 "sum(ranks) AS ranks FROM rank_repeat GROUP BY run_id, repeat) "
                 "SELECT run_id, repeat, r.begin_ns, r.end_ns, r.makespan_ns, has_timeline, ifnull(plan.ranks, 0), "
                 "known.begin_ns, known.end_ns, ifnull(known.ranks, 0) FROM repeat r LEFT JOIN known USING (run_id, "
                 "repeat) LEFT JOIN run USING (run_id) LEFT JOIN plan USING (plan_id) ORDER BY run_id, repeat");
  std::int64_t free_ns = 0;
  while (read.step()) {
    Row row{read.integer(0), read.integer(1), read.integer(2), read.integer(3), read.flag(5)};
    const bool is_known = !read.is_null(7);
    if (is_known) {
      row.begin_ns = read.integer(7);
      row.end_ns = read.integer(8);
    }
    if (row.has_timeline && recorded(RunId{row.run})) {
      row.has_timeline = is_known && read.integer(9) >= read.integer(6);
      if (!is_known) {
        row.begin_ns = free_ns;
        row.end_ns = free_ns + std::clamp<std::int64_t>(read.integer(4), 0, kFarNs);
      }
    }
    free_ns = std::max(free_ns, std::min(row.end_ns, kFarNs) + 1);
    rows.push_back(row);
  }
  Statement update(db,
                   "UPDATE repeat SET begin_ns = ?3, end_ns = ?4, has_timeline = ?5 WHERE run_id = ?1 AND repeat = ?2");
  for (const Row& row : rows) update.run(row.run, row.repeat, row.begin_ns, row.end_ns, row.has_timeline);
}

}  // namespace spscope
