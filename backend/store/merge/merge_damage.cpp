#include "backend/store/merge/merge_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>

#include "backend/base/result.h"
#include "backend/store/merge/merge_tables.h"
#include "backend/store/open_store.h"
#include "backend/store/stored_mask.h"
#include "backend/store/stored_plan.h"

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
void drop_damaged_rows(Database& out, Damage& damage, std::string_view table,
                       const std::function<void(std::int64_t)>& load) {
  std::vector<std::int64_t> damaged;
  for (Statement ids(out, fmt::format("SELECT {0}_id FROM {0}", table)); ids.step();) {
    const std::int64_t id = ids.integer(0);
    const std::optional<Error> fault = failure_of([&] { load(id); });
    if (!fault) continue;
    damage.meet(*fault, fmt::format("{} {} is left out", table, id));
    damage.lost.emplace(table);
    damaged.push_back(id);
  }
  Statement drop(out, fmt::format("DELETE FROM {0} WHERE {0}_id = ?", table));
  for (const std::int64_t id : damaged) drop.run(id);
}

// Rows that refer to a lost row, parents first. A key has one name in all tables.
void drop_orphans(Database& out, Damage& damage) {
  const int before = sqlite3_total_changes(out.handle());
  // A strategy is illegal when it has problems, and only then.
  out.execute("DELETE FROM strategy WHERE legal = (strategy_id IN (SELECT strategy_id FROM problem))");
  // Meshes of a strategy are numbered from 0.
  out.execute(
      "DELETE FROM strategy_mesh WHERE strategy_id IN (SELECT strategy_id FROM strategy_mesh GROUP BY 1 HAVING "
      "min(mesh) < 0 OR max(mesh) >= count(*));"
      "DELETE FROM strategy_group WHERE (strategy_id, mesh) NOT IN (SELECT strategy_id, mesh FROM strategy_mesh);"
      "DELETE FROM run WHERE (strategy_id, mesh) NOT IN (SELECT strategy_id, mesh FROM strategy_mesh)");
  for (const MergedTable& table : merged_tables()) {
    if (table.rule != MergeRule::kHead) continue;
    std::vector<std::string> drops;
    Statement keys(out, R"(SELECT "from", "table" FROM pragma_foreign_key_list(?))");
    for (keys.bind(0, table.name); keys.step();)
      drops.push_back(fmt::format("DELETE FROM {0} WHERE {1} NOT IN (SELECT {1} FROM {2})", table.name, keys.text(0),
                                  keys.text(1)));
    keys.reset();
    for (const std::string& drop : drops) out.execute(drop);
  }
  // A finished run has figures of each rank of its plan.
  out.execute(
      "UPDATE run SET plan_id = NULL, finished = 0 WHERE plan_id IS NOT NULL AND plan_id NOT IN (SELECT plan_id FROM "
      "plan);"
      "UPDATE run SET finished = 0 WHERE finished AND (SELECT ranks FROM plan p WHERE p.plan_id = run.plan_id) <> "
      "(SELECT count(*) FROM rank_usage u WHERE u.run_id = run.run_id);"
      "UPDATE repeat SET has_timeline = 0 WHERE has_timeline AND run_id IN (SELECT run_id FROM run WHERE plan_id IS "
      "NULL)");
  if (const int rows = sqlite3_total_changes(out.handle()) - before; rows > 0)
    damage.notes.push_back(
        fmt::format("rows that refer to what is lost are left out, or count as not finished: {}", rows));
}

// When rows of a table of figures are lost, no one knows which runs they belonged to.
void unfinish_incomplete(Database& out, Damage& damage) {
  const auto lost_rows_of = [&](std::initializer_list<const char*> tables) {
    return std::ranges::any_of(tables, [&](const char* table) { return damage.lost.contains(table); });
  };
  if (lost_rows_of({"rank_usage", "traffic", "repeat"})) {
    out.execute("UPDATE run SET finished = 0");
    damage.notes.emplace_back("a part of the figures is lost: all layer passes count as not finished");
  }
  if (lost_rows_of({"chunk", "track", "ledger", "rank_repeat"})) out.execute("UPDATE repeat SET has_timeline = 0");
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

void make_consistent(Database& out, std::span<MergeSource> sources, Damage& damage) {
  drop_damaged_rows(out, damage, "plan", [&](std::int64_t id) { load_plan(out, PlanId{id}); });
  drop_damaged_rows(out, damage, "mask", [&](std::int64_t id) { load_mask(out, StoredMaskId{id}); });
  drop_orphans(out, damage);
  unfinish_incomplete(out, damage);
  drop_unknown_runs(out, sources, damage);
  require_content(out, sources, damage);
}

}  // namespace spscope
