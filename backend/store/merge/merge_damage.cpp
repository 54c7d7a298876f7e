#include "backend/store/merge/merge_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "backend/base/result.h"
#include "backend/store/check_rows.h"
#include "backend/store/open_store.h"

namespace spscope {
namespace {

// Whether the bytes of a chunk are there and are its events.
bool is_sound(Statement& data, const ChunkPlace& chunk) {
  std::vector<SpanEvent> spans;
  std::vector<CounterSample> counters;
  const Result<bool> decoded = capture([&] {
    if (!data.bind_all(chunk.chunk_id).step()) return false;
    if (chunk.header.kind == RecordKind::kCounter)
      decode_counters(chunk.header, data.blob(0), counters);
    else
      decode_spans(chunk.header, data.blob(0), spans);
    return true;
  });
  data.reset();
  if (!decoded) require_damage(decoded.error());
  return decoded && *decoded;
}

// Plans and masks are only stored whole.
void drop_damaged_rows(Database& out, Damage& damage) {
  for (const auto& [table, key] : {std::pair("plan", "plan_id"), {"mask", "mask_id"}, {"mask_thumbnail", "mask_id"}}) {
    std::vector<BadRow> damaged;
    check_rows(out, table, [&](const BadRow& row) { damaged.push_back(row); });
    Statement drop(out, fmt::format("DELETE FROM {} WHERE {} = ?", table, key));
    for (const BadRow& row : damaged) {
      drop.run(row.first_key);
      damage.meet(row.error, fmt::format("{} {} is left out", table, row.first_key));
      damage.lost.emplace(table);
    }
  }
}

// What refers to a row that is lost goes with it, parents first. A strategy is illegal when it has problems, and only
// then. A finished run has figures of each rank of its plan, the traffic that they add up to, and as many repeats as
// the others of its strategy.
constexpr const char* kDropOrphans = R"sql(
DELETE FROM strategy WHERE legal = (strategy_id IN (SELECT strategy_id FROM problem));
DELETE FROM strategy WHERE workload_id NOT IN (SELECT workload_id FROM workload);
DELETE FROM strategy_parameter WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_node WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_group WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM problem WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM plan_op WHERE plan_id NOT IN (SELECT plan_id FROM plan);
DELETE FROM plan_part WHERE plan_id NOT IN (SELECT plan_id FROM plan);
DELETE FROM mask_place WHERE mask_id NOT IN (SELECT mask_id FROM mask);
DELETE FROM mask_thumbnail WHERE mask_id NOT IN (SELECT mask_id FROM mask);
DELETE FROM run WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM rank_usage WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM traffic WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM repeat WHERE run_id NOT IN (SELECT run_id FROM run);
UPDATE run SET plan_id = NULL, finished = 0 WHERE plan_id IS NOT NULL AND plan_id NOT IN (SELECT plan_id FROM plan);
UPDATE repeat SET has_timeline = 0 WHERE run_id IN (SELECT run_id FROM run WHERE plan_id IS NULL);
)sql";

// A finished run has figures of each rank of its plan, the traffic that they add up to, and as many repeats as the
// others of its strategy.
constexpr const char* kUnfinishIncomplete = R"sql(
WITH figures AS (
  SELECT run_id, strategy_id, (SELECT ranks FROM plan p WHERE p.plan_id = run.plan_id) AS ranks,
    (SELECT count(*) FROM rank_usage u WHERE u.run_id = run.run_id) AS usages,
    (SELECT count(*) FROM repeat r WHERE r.run_id = run.run_id) AS repeats,
    (SELECT total(bytes_sent_intra_node) + total(bytes_sent_inter_node) FROM rank_usage u WHERE u.run_id = run.run_id)
      AS sent,
    (SELECT total(bytes) FROM traffic t WHERE t.run_id = run.run_id) AS moved
  FROM run WHERE finished)
UPDATE run SET finished = 0 WHERE run_id IN (
  SELECT run_id FROM figures f WHERE ranks <> usages OR sent <> moved OR repeats = 0
    OR repeats < (SELECT max(repeats) FROM figures g WHERE g.strategy_id = f.strategy_id));
)sql";

std::int64_t finished_runs(Database& out) {
  Statement row(out, "SELECT count(*) FROM run WHERE finished");
  return row.step() ? row.integer(0) : 0;
}

void drop_orphans(Database& out, Damage& damage) {
  const auto lost_rows_of = [&](std::initializer_list<const char*> tables) {
    return std::ranges::any_of(tables, [&](const char* table) { return damage.lost.contains(table); });
  };
  const std::int64_t before = finished_runs(out);
  out.execute(kDropOrphans);
  if (lost_rows_of({"rank_usage", "traffic", "repeat"})) out.execute(kUnfinishIncomplete);
  if (lost_rows_of({"chunk", "stream", "ledger", "rank_repeat"})) out.execute("UPDATE repeat SET has_timeline = 0");
  if (const std::int64_t lost = before - finished_runs(out); lost > 0)
    damage.notes.push_back(fmt::format("{} layer passes lost a part of their figures and count as not finished", lost));
}

// Runs that chunks and now pages name and that have no row.
std::set<RunId> unknown_runs(Database& out, std::span<const MergeSource> sources, int& ranks) {
  std::set<RunId> runs;
  for (const MergeSource& source : sources) {
    for (const SourceStream& stream : source.streams) {
      ranks = std::max(ranks, stream.stream.rank + 1);
      for (const ChunkPlace& chunk : stream.chunks) runs.insert(chunk.run);
    }
    if (!source.now) continue;
    for (const NowPage::Line& line : source.now->lines)
      if (line.whole && line.now.inside_op()) runs.insert(line.now.run);
  }
  Statement known(out, "SELECT 1 FROM run WHERE run_id = ?");
  std::erase_if(runs, [&](RunId run) { return known.bind_all(run).step(); });
  return runs;
}

// A chunk needs a run, so these get one.
void add_unknown_runs(Database& out, std::span<const MergeSource> sources, Damage& damage) {
  int ranks = 1;
  const std::set<RunId> runs = unknown_runs(out, sources, ranks);
  if (runs.empty()) return;
  Statement(out,
            "INSERT INTO workload (config_toml, config_hash, cluster_toml, model, pattern, cluster, scope, tokens,"
            " text_tokens, blocks, density, heads, head_dim, batch, layers, denoise_steps, model_layers,"
            " forward_passes, ranks, nodes, gpus_per_node, data_parallel, dtype)"
            " SELECT '', '', '', 'unknown', 'unknown', 'unknown', 'attention', 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0, 0,"
            " ?1, 1, ?1, 1, 0 WHERE NOT EXISTS (SELECT 1 FROM workload)")
      .run(ranks);
  out.execute(
      "INSERT INTO strategy (workload_id, id, name, label, mode, backend, legal, reason, ulysses, ring)"
      " SELECT min(workload_id), 'unknown', 'unknown', 'unknown', 0, '', 0, 'its row is lost', 1, 1 FROM workload"
      " WHERE NOT EXISTS (SELECT 1 FROM strategy WHERE id = 'unknown');"
      "INSERT INTO problem (strategy_id, ordinal, code, field, message, hint, file, line, line_column)"
      " SELECT strategy_id, 0, 156, '', 'what was run is lost', '', '', 0, 0 FROM strategy WHERE id = 'unknown'"
      " AND strategy_id NOT IN (SELECT strategy_id FROM problem)");
  Statement insert(out,
                   "INSERT INTO run (run_id, strategy_id, layer, denoise_step, plan_id, compute_source, network_source,"
                   " timing, planning_ns, density, tiles, tiles_redundant, moved_fraction, parameter_bytes, verdict,"
                   " error_metric, finished)"
                   " SELECT ?1, strategy_id, 0, ?1, NULL, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, '', 0 FROM strategy"
                   " WHERE id = 'unknown'");
  for (const RunId run : runs) insert.run(run);
  damage.notes.push_back(
      fmt::format("{} runs have events and no row: the head shard is missing, or rows of it are", runs.size()));
}

// A file that says nothing of any run is not made.
void require_content(Database& out, const MergeSource& first, const Damage& damage) {
  if (Statement(out, "SELECT 1 FROM workload UNION ALL SELECT 1 FROM run LIMIT 1").step()) return;
  if (damage.notes.empty()) throw nothing_recorded(first.path);
  throw Error(ErrorCode::kStoreCorrupt,
              fmt::format("nothing of a run can be read in \"{}\": {}", first.path, damage.notes.front()),
              "copy it again from where it was made, or run again");
}

}  // namespace

void check_chunks(MergeSource& source, Damage& damage) {
  if (source.db == nullptr) return;
  Statement data(*source.db, kChunkData);
  for (SourceStream& stream : source.streams) {
    const std::size_t chunks = stream.chunks.size();
    std::erase_if(stream.chunks, [&](const ChunkPlace& chunk) {
      const bool sound = is_sound(data, chunk);
      if (!sound) stream.unreadable += chunk.header.count;
      return !sound;
    });
    if (const std::size_t bad = chunks - stream.chunks.size(); bad > 0)
      damage.notes.push_back(fmt::format("{}: {} chunks with {} events of rank {} lane {} cannot be read", source.path,
                                         bad, stream.unreadable, stream.stream.rank, stream.stream.lane));
  }
}

void make_consistent(Database& out, std::span<const MergeSource> sources, Damage& damage) {
  drop_damaged_rows(out, damage);
  if (!damage.lost.empty()) drop_orphans(out, damage);
  add_unknown_runs(out, sources, damage);
  require_content(out, sources.front(), damage);
}

}  // namespace spscope
