#include "backend/store/merge/merge_missing_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace spscope {
namespace {

std::int64_t id_of_unknown_workload(Database& out, int ranks) {
  Statement known(out, "SELECT min(workload_id) FROM workload");
  if (known.step() && !known.is_null(0)) return known.integer(0);
  Statement(out,
            "INSERT INTO workload (config_toml, config_hash, cluster_toml, model, pattern, cluster, scope, tokens,"
            " text_tokens, blocks, density, heads, head_dim, batch, layers, denoise_steps, model_layers,"
            " forward_passes, ranks, nodes, gpus_per_node, data_parallel, dtype)"
            " VALUES ('', '', '', 'unknown', 'unknown', 'unknown', 'attention', 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0,"
            " ?1, 1, ?1, 1, 0)")
      .run(ranks);
  return out.last_insert_id();
}

std::int64_t id_of_unknown_strategy(Database& out, int ranks) {
  const std::int64_t workload = id_of_unknown_workload(out, ranks);
  Statement(out,
            "INSERT OR IGNORE INTO strategy (workload_id, id, name, label, mode, backend, legal, reason, ulysses, ring)"
            " VALUES (?, 'unknown', 'unknown', 'unknown', 0, '', 0, 'the head shard, which says what was run, is"
            " missing', 1, 1)")
      .run(workload);
  Statement row(out,
                "SELECT strategy_id FROM strategy WHERE id = 'unknown'");  // a file that was recovered before has it
  row.step();
  return row.integer(0);
}

// A run without its strategy is one that nothing tells of.
void drop_runs_without_strategy(Database& out, Damage& damage) {
  constexpr const char* kWhere = "FROM run WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy)";
  Statement lost(out, fmt::format("SELECT count(*) {}", kWhere));
  lost.step();
  const std::int64_t runs = lost.integer(0);
  lost.reset();
  if (runs == 0) return;
  out.execute(fmt::format("DELETE {}", kWhere));
  damage.notes.push_back(
      fmt::format("{} layer passes are of a strategy whose row is lost: their figures are left out", runs));
}

}  // namespace

void add_missing_runs(Database& out, std::span<const MergeSource> sources, Damage& damage) {
  drop_runs_without_strategy(out, damage);
  std::set<RunId> missing;
  int ranks = 1;
  for (const MergeSource& source : sources) {
    for (const SourceTrack& track : source.tracks) {
      ranks = std::max(ranks, track.track.rank.value_or(0) + 1);
      for (const ChunkPlace& chunk : track.chunks) missing.insert(chunk.run);
    }
    if (!source.now) continue;
    for (const NowPage::Line& line : source.now->lines)
      if (line.whole && line.now.inside_op()) missing.insert(line.now.run);
  }
  missing.erase(kNoRun);
  Statement known(out, "SELECT 1 FROM run WHERE run_id = ?");
  std::erase_if(missing, [&](RunId run) { return known.bind_all(run).step(); });
  if (missing.empty()) return;
  const std::int64_t strategy = id_of_unknown_strategy(out, ranks);
  Statement insert(out,
                   "INSERT INTO run (run_id, strategy_id, layer, denoise_step, plan_id, compute_source, network_source,"
                   " timing, planning_ns, density, tiles, tiles_redundant, moved_fraction, parameter_bytes, verdict,"
                   " error_metric, finished)"
                   " VALUES (?1, ?2, 0, ?1, NULL, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, '', 0)");
  for (const RunId run : missing) insert.run(run, strategy);
  damage.notes.push_back(
      fmt::format("{} runs have events and nothing says what they were: the head shard is missing, or rows of it are",
                  missing.size()));
}

}  // namespace spscope
