#include "backend/store/merge/merge_mend.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "backend/base/result.h"
#include "backend/store/check_rows.h"
#include "backend/store/stored_mask.h"
#include "backend/store/stored_plan.h"

namespace spscope {
namespace {

std::int64_t changed_rows(Database& out) {
  Statement row(out, "SELECT changes()");
  row.step();
  return row.integer(0);
}

void drop_unreadable_plans(Database& out, Damage& damage) {
  std::vector<PlanId> plans;
  Statement rows(out, "SELECT plan_id FROM plan");
  while (rows.step()) plans.push_back(PlanId{rows.integer(0)});
  for (const PlanId plan : plans) {
    const auto loaded = capture([&] { return load_plan(out, plan), true; });
    if (loaded) continue;
    damage.meet(loaded.error(), fmt::format("plan {} is left out", static_cast<std::int64_t>(plan)));
    for (const char* table : {"plan", "plan_op", "plan_part"})
      Statement(out, fmt::format("DELETE FROM {} WHERE plan_id = ?", table)).run(plan);
  }
}

void drop_unreadable_masks(Database& out, Damage& damage) {
  std::vector<BadRow> masks, pictures;
  check_rows(out, "mask", [&](const BadRow& row) { masks.push_back(row); });
  for (const BadRow& row : masks) {
    damage.meet(row.error, fmt::format("mask {} is left out", row.first_key));
    Statement(out, "DELETE FROM mask WHERE mask_id = ?").run(row.first_key);
  }
  out.execute("DELETE FROM mask_thumbnail WHERE mask_id NOT IN (SELECT mask_id FROM mask)");
  check_rows(out, "mask_thumbnail", [&](const BadRow& row) { pictures.push_back(row); });
  std::set<std::int64_t> mended;
  for (const BadRow& row : pictures) {
    if (!mended.insert(row.first_key).second) continue;
    Statement(out, "DELETE FROM mask_thumbnail WHERE mask_id = ?").run(row.first_key);
    const std::optional<BlockMask> bits = load_mask(out, StoredMaskId{row.first_key});
    if (bits) store_thumbnails(out, StoredMaskId{row.first_key}, *bits);
    damage.meet(row.error,
                fmt::format("the pictures of mask {} are {}", row.first_key, bits ? "drawn again" : "left out"));
  }
}

// Damage may say too little of what it hides. A whole run has figures of each rank of its plan, the traffic that they
// add up to, and as many repeats as others of its strategy.
constexpr const char* kUnfinishIncomplete =
    "WITH figures AS (SELECT run_id, strategy_id, (SELECT ranks FROM plan WHERE plan.plan_id = run.plan_id) AS ranks, "
    "(SELECT count(*) FROM rank_usage u WHERE u.run_id = run.run_id) AS usages, "
    "(SELECT count(*) FROM repeat r WHERE r.run_id = run.run_id) AS repeats, "
    "(SELECT total(bytes_sent_intra_node) + total(bytes_sent_inter_node) FROM rank_usage u "
    "WHERE u.run_id = run.run_id) AS sent, "
    "(SELECT total(bytes) FROM traffic t WHERE t.run_id = run.run_id) AS moved FROM run WHERE finished) "
    "UPDATE run SET finished = 0 WHERE run_id IN (SELECT run_id FROM figures f WHERE ranks <> usages OR sent <> moved "
    "OR repeats = 0 OR repeats < (SELECT max(repeats) FROM figures g WHERE g.strategy_id = f.strategy_id))";

// Runs that lack rows are not finished any more.
void take_back_figures(Database& out, Damage& damage) {
  constexpr const char* kWithoutPlan = "plan_id IS NOT NULL AND plan_id NOT IN (SELECT plan_id FROM plan)";
  out.execute(fmt::format("UPDATE run SET plan_id = NULL, finished = 0 WHERE {}", kWithoutPlan));
  std::int64_t taken_back = changed_rows(out);
  out.execute(
      "UPDATE repeat SET has_timeline = 0 WHERE run_id NOT IN (SELECT run_id FROM run WHERE plan_id IS NOT NULL)");
  Statement unfinish(out, "UPDATE run SET finished = 0 WHERE finished AND run_id BETWEEN ? AND ?");
  for (const char* table : {"rank_usage", "traffic", "repeat"}) {
    const auto lost = damage.lost.find(table);
    if (lost == damage.lost.end()) continue;
    for (const KeyRange& runs : lost->second) {
      unfinish.run(runs.first, runs.last);
      taken_back += changed_rows(out);
    }
  }
  for (const char* table : {"rank_usage", "traffic", "repeat"})
    if (damage.lost.contains(table)) {
      out.execute(kUnfinishIncomplete);
      taken_back += changed_rows(out);
      break;
    }
  if (taken_back > 0)
    damage.notes.push_back(
        fmt::format("{} layer passes lost a part of their figures and count as not finished", taken_back));
}

void agree_on_problems(Database& out) {
  out.execute("DELETE FROM problem WHERE strategy_id IN (SELECT strategy_id FROM strategy WHERE legal)");
  Statement lost(out,
                 "INSERT INTO problem (strategy_id, ordinal, code, field, message, hint, file, line, line_column) "
                 "SELECT strategy_id, 0, ?, '', CASE reason WHEN '' THEN 'what makes it illegal was lost with damage' "
                 "ELSE reason END, '', '', 0, 0 FROM strategy WHERE NOT legal AND strategy_id NOT IN (SELECT "
                 "strategy_id FROM problem)");
  lost.run(ErrorCode::kStoreCorrupt);
}

std::map<RunId, std::int64_t> events_of_runs(std::span<const MergeSource> sources) {
  std::map<RunId, std::int64_t> events;
  for (const MergeSource& source : sources)
    for (const SourceTrack& track : source.tracks)
      for (const ChunkPlace& chunk : track.chunks)
        if (chunk.header.kind != RecordKind::kCounter) events[chunk.run] += chunk.header.count;
  return events;
}

// Whether the ledger says itself that events are missing: readers then look at each repeat.
bool is_told(std::span<const MergeSource> sources, const Damage& damage) {
  if (damage.lost.contains("ledger") || damage.lost.contains("track")) return false;
  const auto misses = [](const SourceTrack& s) { return s.unreadable > 0 || s.ledger.sent != s.ledger.stored; };
  return std::ranges::any_of(sources, [&](const auto& source) { return std::ranges::any_of(source.tracks, misses); });
}

// A run has timelines when each rank has its times of each repeat and, in a file that was finished, when it has an
// event for each operation of each of them.
void take_back_timelines(Database& out, std::span<const MergeSource> sources, const Damage& damage) {
  Statement no_timeline(out, "UPDATE repeat SET has_timeline = 0 WHERE run_id BETWEEN ? AND ?");
  if (const auto lost = damage.lost.find("rank_repeat"); lost != damage.lost.end()) {
    Statement incomplete(out,
                         "SELECT run_id FROM run JOIN plan USING (plan_id) WHERE run_id BETWEEN ? AND ? AND ranks * "
                         "(SELECT count(*) FROM repeat r WHERE r.run_id = run.run_id AND has_timeline) <> "
                         "(SELECT total(ranks) FROM rank_repeat c WHERE c.run_id = run.run_id)");
    for (const KeyRange& runs : lost->second)
      for (incomplete.bind_all(runs.first, runs.last); incomplete.step();)
        no_timeline.run(incomplete.integer(0), incomplete.integer(0));
  }
  if (sources.front().shard.kind != ShardKind::kNone || is_told(sources, damage)) return;
  const std::map<RunId, std::int64_t> events = events_of_runs(sources);
  Statement planned(out,
                    "SELECT run_id, num_ops, (SELECT sum(has_timeline) FROM repeat WHERE repeat.run_id = run.run_id) "
                    "FROM run JOIN plan USING (plan_id)");
  while (planned.step()) {
    const RunId run{planned.integer(0)};
    const auto found = events.find(run);
    const auto stored = static_cast<std::uint64_t>(found == events.end() ? 0 : found->second);
    if (!planned.is_null(2) &&
        stored != static_cast<std::uint64_t>(planned.integer(1)) * static_cast<std::uint64_t>(planned.integer(2)))
      no_timeline.run(run, run);
  }
}

// What is of a strategy or a run that is gone.
void drop_orphans(Database& out) {
  for (const char* table : {"strategy_parameter", "strategy_node", "strategy_group"})
    out.execute(fmt::format("DELETE FROM {} WHERE strategy_id NOT IN (SELECT strategy_id FROM strategy)", table));
  for (const char* table : {"rank_usage", "traffic", "repeat"})
    out.execute(fmt::format("DELETE FROM {} WHERE run_id NOT IN (SELECT run_id FROM run)", table));
  out.execute("DELETE FROM mask_place WHERE mask_id NOT IN (SELECT mask_id FROM mask)");
}

}  // namespace

void mend_tables(Database& out, std::span<const MergeSource> sources, Damage& damage) {
  drop_unreadable_plans(out, damage);
  drop_unreadable_masks(out, damage);
  take_back_figures(out, damage);
  agree_on_problems(out);
  take_back_timelines(out, sources, damage);
  drop_orphans(out);
}

}  // namespace spscope
