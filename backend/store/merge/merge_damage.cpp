#include "backend/store/merge/merge_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "backend/base/result.h"
#include "backend/store/check_figures.h"
#include "backend/store/check_rows.h"
#include "backend/store/figures_crc.h"
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

// A plan or mask is useful only as a whole.
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

// Rows that refer to a lost row are dropped, parents first. A strategy is illegal when it has problems, and only then.
constexpr const char* kDropOrphans = R"sql(
DELETE FROM strategy WHERE legal = (strategy_id IN (SELECT strategy_id FROM problem));
DELETE FROM strategy WHERE workload_id NOT IN (SELECT workload_id FROM workload);
DELETE FROM strategy_parameter WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_node WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_mesh WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_pick WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM strategy_group WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM problem WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM plan_op WHERE plan_id NOT IN (SELECT plan_id FROM plan);
DELETE FROM plan_part WHERE plan_id NOT IN (SELECT plan_id FROM plan);
DELETE FROM mask_place WHERE mask_id NOT IN (SELECT mask_id FROM mask);
DELETE FROM mask_place WHERE workload_id NOT IN (SELECT workload_id FROM workload);
DELETE FROM mask_thumbnail WHERE mask_id NOT IN (SELECT mask_id FROM mask);
DELETE FROM run WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy);
DELETE FROM rank_usage WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM traffic WHERE run_id NOT IN (SELECT run_id FROM run);
DELETE FROM repeat WHERE run_id NOT IN (SELECT run_id FROM run);
UPDATE run SET plan_id = NULL, finished = 0, figures_crc32c = NULL WHERE plan_id IS NOT NULL AND plan_id NOT IN (SELECT plan_id FROM plan);
UPDATE repeat SET has_timeline = 0 WHERE run_id IN (SELECT run_id FROM run WHERE plan_id IS NULL);
)sql";

// A run keeps the number of a lost mesh, whose degrees are not known then. There is a mesh for each way to split the
// ranks that a layer pass used; a number beyond 255 is damage.
constexpr const char* kMakeMeshes = R"sql(
DELETE FROM strategy_mesh WHERE mesh NOT BETWEEN 0 AND 255;
DELETE FROM rank_usage WHERE run_id IN (SELECT run_id FROM run WHERE mesh NOT BETWEEN 0 AND 255);
DELETE FROM traffic WHERE run_id IN (SELECT run_id FROM run WHERE mesh NOT BETWEEN 0 AND 255);
DELETE FROM repeat WHERE run_id IN (SELECT run_id FROM run WHERE mesh NOT BETWEEN 0 AND 255);
DELETE FROM run WHERE mesh NOT BETWEEN 0 AND 255;
INSERT OR IGNORE INTO strategy_mesh (strategy_id, mesh, ulysses, ring)
  WITH RECURSIVE missing(strategy_id, mesh) AS (
    SELECT strategy_id, max(mesh) FROM (SELECT strategy_id, mesh FROM run UNION ALL
      SELECT strategy_id, mesh FROM strategy_mesh) GROUP BY strategy_id
    UNION ALL SELECT strategy_id, mesh - 1 FROM missing WHERE mesh > 0)
  SELECT strategy_id, mesh, 0, 0 FROM missing;
DELETE FROM strategy_group WHERE (strategy_id, mesh) NOT IN (SELECT strategy_id, mesh FROM strategy_mesh WHERE
  ulysses > 0);
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
    (SELECT total(bytes) FROM traffic t WHERE t.run_id = run.run_id AND t.tensor <> 'metadata') AS moved
  FROM run WHERE finished)
UPDATE run SET finished = 0, figures_crc32c = NULL WHERE run_id IN (
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
  if (lost_rows_of({"chunk", "track", "ledger", "rank_repeat"})) out.execute("UPDATE repeat SET has_timeline = 0");
  if (const std::int64_t lost = before - finished_runs(out); lost > 0)
    damage.notes.push_back(fmt::format("{} layer passes lost a part of their figures and count as not finished", lost));
}

// Figures that are stored twice and differ: nothing says which of the two is right.
void unfinish_disagreeing(Database& out, Damage& damage) {
  std::map<RunId, std::string> differ;
  for (Disagreement& of_repeat : disagreements_of_times(out)) differ.emplace(of_repeat.run, std::move(of_repeat.what));
  for (Statement runs(out, "SELECT run_id FROM run WHERE finished"); runs.step();) {
    const RunId run{runs.integer(0)};
    for (std::string& what : disagreements(out, run)) differ.emplace(run, std::move(what));
  }
  Statement unfinish(out, "UPDATE run SET finished = 0, figures_crc32c = NULL WHERE run_id = ?");
  for (const auto& [run, what] : differ) {
    unfinish.run(run);
    damage.notes.push_back(fmt::format("{} counts as not finished: {}", run_name(out, run), what));
  }
}

// Events of runs without a row become events of no run.
void drop_unknown_runs(Database& out, std::span<MergeSource> sources, Damage& damage) {
  std::set<RunId> known = {kNoRun}, unknown;
  for (Statement rows(out, "SELECT run_id FROM run"); rows.step();) known.insert(RunId{rows.integer(0)});
  const auto check = [&](RunId& run) {
    if (known.contains(run)) return;
    unknown.insert(run);
    run = kNoRun;
  };
  for (MergeSource& source : sources) {
    for (SourceTrack& track : source.tracks)
      for (ChunkPlace& chunk : track.chunks) check(chunk.run);
    if (!source.now) continue;
    for (NowPage::Line& line : source.now->lines)
      if (line.whole && line.now.inside_op()) check(line.now.run);
  }
  out.execute(
      "DELETE FROM rank_repeat WHERE run_id NOT IN (SELECT run_id FROM run);"
      "UPDATE incident SET run_id = NULL WHERE run_id NOT IN (SELECT run_id FROM run)");
  if (!unknown.empty())
    damage.notes.push_back(fmt::format(
        "{} runs have events and no row: the head shard is missing, or rows of it are; their events have no run",
        unknown.size()));
}

// A file without a run and without an event is not made.
void require_content(Database& out, std::span<const MergeSource> sources, const Damage& damage) {
  const auto has_chunks = [](const SourceTrack& track) { return !track.chunks.empty(); };
  for (const MergeSource& source : sources)
    if (std::ranges::any_of(source.tracks, has_chunks)) return;
  if (Statement(out, "SELECT 1 FROM workload UNION ALL SELECT 1 FROM run LIMIT 1").step()) return;
  if (damage.notes.empty()) throw nothing_recorded(sources.front().path);
  throw Error(ErrorCode::kStoreCorrupt,
              fmt::format("nothing of a run can be read in \"{}\": {}", sources.front().path, damage.notes.front()),
              "copy it again from where it was made, or run again");
}

}  // namespace

void check_chunks(MergeSource& source, Damage& damage) {
  if (source.db == nullptr) return;
  Statement& data = source.db->chunk_data();
  for (SourceTrack& track : source.tracks) {
    const std::size_t chunks = track.chunks.size();
    std::erase_if(track.chunks, [&](const ChunkPlace& chunk) {
      const bool sound = is_sound(data, chunk);
      if (!sound) track.unreadable += chunk.header.count;
      return !sound;
    });
    if (const std::size_t bad = chunks - track.chunks.size(); bad > 0)
      damage.notes.push_back(fmt::format("{}: {} chunks with {} events of {} cannot be read", source.path, bad,
                                         track.unreadable, track_text(track.track)));
  }
}

void note_mended_pages(const MergeSource& source, Damage& damage) {
  if (source.db == nullptr) return;
  const std::vector<std::uint32_t> mended = source.db->mended_pages();
  for (const std::uint32_t page : mended)
    damage.notes.push_back(fmt::format("a bit of page {} of \"{}\" was wrong and is mended by the checksum of the page",
                                       page, source.path));
}

void check_figures(Database& out, std::span<const MergeSource> sources, Damage& damage) {
  const bool from_shards = std::ranges::any_of(
      sources, [](const MergeSource& source) { return source.db != nullptr && source.shard.kind == ShardKind::kHead; });
  const std::vector<UnmatchedRun> unmatched = unmatched_figures(out, from_shards);
  Statement unfinish(out, "UPDATE run SET finished = 0, figures_crc32c = NULL WHERE run_id = ?");
  for (const UnmatchedRun& run : unmatched) {
    damage.meet(Error(ErrorCode::kStoreCorrupt, fmt::format("{}: {}", run_name(out, run.run), run.what),
                      "recover what can be read with spscope recover"),
                "it counts as not finished");
    unfinish.run(run.run);
    damage.lost.emplace("run");
  }
  if (!unmatched.empty()) out.execute(kDropOrphans);
}

void make_consistent(Database& out, std::span<MergeSource> sources, Damage& damage) {
  drop_damaged_rows(out, damage);
  if (!damage.lost.empty()) drop_orphans(out, damage);
  unfinish_disagreeing(out, damage);
  check_figures(out, sources, damage);
  out.execute(kMakeMeshes);
  drop_unknown_runs(out, sources, damage);
  require_content(out, sources, damage);
}

}  // namespace spscope
