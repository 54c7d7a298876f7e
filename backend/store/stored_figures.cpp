#include "backend/store/stored_figures.h"

namespace spscope {

std::vector<RankUsage> load_usage(Database& db, RunId run) {
  Statement rows(db,
                 "SELECT rank, tiles, flops, bytes_sent_intra_node, bytes_sent_inter_node, bytes_received, messages,"
                 " memory_peak_bytes, memory_bound_bytes, counted, host_post_ns FROM main.rank_usage WHERE run_id = ?"
                 " ORDER BY rank");
  rows.bind_all(run);
  std::vector<RankUsage> usage;
  while (rows.step())
    usage.push_back({rows.count(0), rows.real(1), rows.integer(2), rows.integer(3), rows.integer(4), rows.integer(5),
                     rows.integer(6), rows.integer(7), rows.integer(8), rows.flag(9),
                     rows.is_null(10) ? std::nullopt : std::optional(rows.integer(10))});
  return usage;
}

std::vector<Traffic> load_traffic(Database& db, RunId run) {
  Statement rows(
      db, "SELECT src, dst, tensor, messages, bytes FROM main.traffic WHERE run_id = ? ORDER BY src, dst, tensor");
  rows.bind_all(run);
  std::vector<Traffic> traffic;
  while (rows.step()) traffic.push_back({rows.count(0), rows.count(1), rows.text(2), rows.integer(3), rows.integer(4)});
  return traffic;
}

}  // namespace spscope
