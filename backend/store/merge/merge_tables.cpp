#include "backend/store/merge/merge_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "backend/base/result.h"
#include "backend/store/rank_repeats.h"
#include "backend/store/sqlite/table_copy.h"

namespace spscope {

namespace {

constexpr MergedTable kTables[] = {
    {"meta", MergeRule::kMade},
    {"enum_name", MergeRule::kMade},
    {"machine_fact", MergeRule::kHead},
    {"workload", MergeRule::kHead},
    {"strategy", MergeRule::kHead},
    {"strategy_parameter", MergeRule::kHead},
    {"strategy_node", MergeRule::kHead},
    {"strategy_mesh", MergeRule::kHead},
    {"strategy_group", MergeRule::kHead},
    {"strategy_pick", MergeRule::kHead},
    {"problem", MergeRule::kHead},
    {"plan", MergeRule::kHead},
    {"plan_op", MergeRule::kHead},
    {"plan_part", MergeRule::kHead},
    {"run", MergeRule::kHead},
    {"rank_usage", MergeRule::kHead},
    {"traffic", MergeRule::kHead},
    {"repeat", MergeRule::kHead},
    {"mask", MergeRule::kHead},
    {"mask_thumbnail", MergeRule::kHead},
    {"mask_place", MergeRule::kHead},
    {"collector", MergeRule::kAll},
    {"rank_process", MergeRule::kAll},
    {"clock_fit", MergeRule::kMade},
    {"clock_exchange", MergeRule::kMade},
    {"rank_repeat", MergeRule::kMade},
    {"incident", MergeRule::kMade},
    {"string", MergeRule::kMade},
    {"track", MergeRule::kMade},
    {"communicator", MergeRule::kMade},
    {"chunk", MergeRule::kMade},
    {"ledger", MergeRule::kMade},
    {"pyramid", MergeRule::kMade},
    {"lod_busy", MergeRule::kMade},
    {"lod_strip", MergeRule::kMade},
    {"work_detail", MergeRule::kMade},
};

// Of repeats that two shards have, the first counts.
UnreadRows copy_rank_repeats(Database& out, const MergeSource& source, const MergeClocks& clocks) {
  Statement insert(
      out,
      "INSERT OR IGNORE INTO rank_repeat (run_id, rank, repeat, ranks, begin_ns, end_ns) VALUES (?, ?, ?, ?, ?, ?)");
  return read_rows(source.database(), "rank_repeat", kRankRepeatColumns, [&](const Statement& row) {
    const RankRepeat repeat = rank_repeat_of(row);
    const ClockFit* fit = clocks.fit(source, repeat.rank);
    const std::int64_t begin_ns = on_run_clock(fit, repeat.begin_ns);
    insert.run(repeat.run_id, repeat.rank, repeat.repeat, repeat.ranks, begin_ns,
               std::max(begin_ns, on_run_clock(fit, repeat.end_ns)));
  });
}

// What meta says of the run itself. The rest says what the file is and is made anew.
UnreadRows copy_meta(Database& out, const MergeSource& head) {
  constexpr std::string_view kMade[] = {"schema_version",   "min_reader",  "tool_version",     "shard",
                                        "collection",       "clock",       "shard_rank",       "shard_id",
                                        "strings_repaired", "strings_cut", "recorded_until_ns"};
  Statement insert(out, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  return read_rows(head.database(), "meta", "key, value", [&](const Statement& row) {
    const std::string key = row.text(0);
    if (std::ranges::find(kMade, key) == std::end(kMade)) insert.run(key, row.text(1));
  });
}

void write_clocks(Database& out, const MergeClocks& clocks) {
  Statement insert_fit(out,
                       "INSERT OR IGNORE INTO clock_fit (rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges) "
                       "VALUES (?, ?, ?, ?, ?, ?)");
  for (const auto& [rank, fit] : clocks.fits())
    insert_fit.run(rank, fit.raw_zero_ns, fit.offset_ns, fit.drift, fit.bound_ns, fit.exchanges);
  Statement insert(
      out, "INSERT INTO clock_exchange (rank, ordinal, sent_ns, remote_ns, received_ns) VALUES (?, ?, ?, ?, ?)");
  for (const auto& [rank, all] : clocks.exchanges()) {
    int ordinal = 0;
    for (const ClockSample& sample : clock_envelope(all))
      insert.run(rank, ordinal++, sample.sent_ns, sample.remote_ns, sample.received_ns);
  }
}

// Of a process that was watched, whose shard does not know its rank.
void set_rank_of_collectors(Database& out, const MergeSource& source) {
  Statement(out, "UPDATE OR IGNORE collector SET first_rank = ? WHERE first_rank = ? AND process = ?")
      .run(source.shard.rank, source.told_rank, source.process->process.name);
}

// Those of the head first: it knows which was the first cause.
UnreadRows copy_incidents(Database& out, const MergeSource& source) {
  Statement insert(out,
                   "INSERT INTO incident (rank, lane, op_id, run_id, kind, message) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
                   "WHERE NOT EXISTS (SELECT 1 FROM incident WHERE rank = ?1 AND kind = ?5 AND message = ?6)");
  return read_rows(source.database(), "incident", "rank, lane, op_id, run_id, kind, message",
                   [&](const Statement& row) {
                     insert.reset();
                     for (int i = 0; i < 6; ++i) insert.copy(i, row, i);
                     if (source.process) insert.bind(0, source.shard.rank);
                     insert.try_run();
                   });
}

// Whether ranks recorded a run: it came from the head of a collection, and its events did not.
class RecordedByRanks {
 public:
  explicit RecordedByRanks(std::span<const MergeSource> sources) {
    for (const MergeSource& source : sources) {
      if (source.shard.kind != ShardKind::kHead) continue;
      has_head_ = true;
      for (const SourceTrack& track : source.tracks)
        for (const ChunkPlace& chunk : track.chunks)
          if (chunk.header.kind != RecordKind::kCounter) modelled_.insert(chunk.run);
    }
  }
  bool operator()(RunId run) const { return has_head_ && !modelled_.contains(run); }

 private:
  bool has_head_ = false;
  std::set<RunId> modelled_;
};

}  // namespace

std::span<const MergedTable> merged_tables() { return kTables; }

void merge_tables(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks, Damage& damage) {
  for (const MergeSource& source : sources) {
    if (source.db == nullptr) continue;
    for (const MergedTable& table : kTables)
      if (table.rule == MergeRule::kAll || (table.rule == MergeRule::kHead && source.is_head()))
        damage.read(source, table.name, [&] {
          return copy_rows(source.database(), out, table.name,
                           table.rule == MergeRule::kAll ? OnSameKey::kKeepFirst : OnSameKey::kReject);
        });
    if (source.process) set_rank_of_collectors(out, source);
    damage.read(source, "rank_repeat", [&] { return copy_rank_repeats(out, source, clocks); });
    damage.read(source, "incident", [&] { return copy_incidents(out, source); });
    if (source.is_head()) damage.read(source, "meta", [&] { return copy_meta(out, source); });
  }
  set_repeat_windows(out, RecordedByRanks(sources));
  write_clocks(out, clocks);
}

}  // namespace spscope
