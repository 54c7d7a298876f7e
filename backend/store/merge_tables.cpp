#include "backend/store/merge_tables.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "backend/base/result.h"
#include "backend/store/rank_repeats.h"
#include "backend/store/table_copy.h"

namespace spscope {

namespace {

constexpr MergedTable kTables[] = {
    {"meta", MergeRule::kMade},          {"enum_name", MergeRule::kMade},
    {"machine_fact", MergeRule::kHead},  {"workload", MergeRule::kHead},
    {"strategy", MergeRule::kHead},      {"strategy_parameter", MergeRule::kHead},
    {"strategy_node", MergeRule::kHead}, {"strategy_group", MergeRule::kHead},
    {"problem", MergeRule::kHead},       {"plan", MergeRule::kHead},
    {"plan_op", MergeRule::kHead},       {"plan_part", MergeRule::kHead},
    {"run", MergeRule::kHead},           {"rank_usage", MergeRule::kHead},
    {"traffic", MergeRule::kHead},       {"repeat", MergeRule::kHead},
    {"mask", MergeRule::kHead},          {"mask_thumbnail", MergeRule::kHead},
    {"mask_place", MergeRule::kHead},    {"rank_process", MergeRule::kAll},
    {"clock_fit", MergeRule::kMade},     {"clock_exchange", MergeRule::kMade},
    {"rank_repeat", MergeRule::kMade},   {"rank_repeat_chunk", MergeRule::kMade},
    {"incident", MergeRule::kMade},      {"string", MergeRule::kMade},
    {"stream", MergeRule::kMade},        {"communicator", MergeRule::kMade},
    {"chunk", MergeRule::kMade},         {"ledger", MergeRule::kMade},
    {"lod_track", MergeRule::kMade},     {"lod_level", MergeRule::kMade},
    {"lod_strip", MergeRule::kMade},
};

void copy_whole(Database& out, const MergeSource& source, const MergedTable& table) {
  const std::int64_t refused = copy_rows(*source.db, out, table.name, table.rule == MergeRule::kAll);
  if (refused > 0)
    throw Error(ErrorCode::kStoreCorrupt,
                fmt::format("cannot read \"{}\": {} rows of table {} make no sense", source.path, refused, table.name),
                "recover what can be read with spscope recover");
}

void copy_rank_repeats(RankRepeatWriter& out, const MergeSource& source, const MergeClocks& clocks) {
  out.begin_source();
  for_each_rank_repeat(*source.db, std::nullopt, [&](RankRepeat repeat) {
    const ClockFit* fit = clocks.fit(source, repeat.rank);
    repeat.begin_ns = on_run_clock(fit, repeat.begin_ns);
    repeat.end_ns = on_run_clock(fit, repeat.end_ns);
    out.add(repeat);
  });
}

// `copy` of a table, as far as it goes.
void copy_table(std::string_view table, Damage& damage, const std::function<void()>& copy) {
  const auto copied = capture([&] {
    copy();
    return true;
  });
  if (copied) return;
  if (copied.error().code() == ErrorCode::kStoreWrite) throw copied.error();
  damage.meet(copied.error(), fmt::format("table {} is copied as far as it can be read", table));
}

// What meta says of the run itself. The rest says what the file is and is made anew.
void copy_meta(Database& out, const MergeSource& head) {
  Statement rows(*head.db,
                 "SELECT key, value FROM main.meta WHERE key NOT IN ('schema_version', 'min_reader', 'tool_version', "
                 "'shard', 'collection', 'clock', 'shard_rank', 'strings_repaired', 'strings_cut', "
                 "'recorded_until_ns')");
  Statement insert(out, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  while (rows.step()) insert.run(rows.text(0), rows.text(1));
}

void write_clocks(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks) {
  Statement insert_fit(out,
                       "INSERT OR IGNORE INTO clock_fit (rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges) "
                       "VALUES (?, ?, ?, ?, ?, ?)");
  for (const auto& [rank, fit] : clocks.fits())
    insert_fit.run(rank, fit.raw_zero_ns, fit.offset_ns, fit.drift, fit.bound_ns, fit.exchanges);
  std::map<int, std::vector<ClockSample>> samples;
  for (const MergeSource& source : sources) {
    if (source.db == nullptr) continue;
    Statement rows(*source.db, "SELECT rank, sent_ns, remote_ns, received_ns FROM main.clock_exchange");
    while (rows.step()) samples[rows.count(0)].push_back({rows.integer(1), rows.integer(2), rows.integer(3)});
  }
  Statement insert(
      out, "INSERT INTO clock_exchange (rank, ordinal, sent_ns, remote_ns, received_ns) VALUES (?, ?, ?, ?, ?)");
  for (const auto& [rank, all] : samples) {
    int ordinal = 0;
    for (const ClockSample& sample : clock_envelope(all))
      insert.run(rank, ordinal++, sample.sent_ns, sample.remote_ns, sample.received_ns);
  }
}

// Those of the head first: it knows which was the first cause.
void copy_incidents(Database& out, const MergeSource& source) {
  Statement rows(*source.db, "SELECT rank, lane, op_id, run_id, kind, message FROM main.incident ORDER BY ordinal");
  Statement insert(out,
                   "INSERT INTO incident (rank, lane, op_id, run_id, kind, message) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
                   "WHERE NOT EXISTS (SELECT 1 FROM incident WHERE rank = ?1 AND kind = ?5 AND message = ?6)");
  while (rows.step()) {
    insert.reset();
    for (int i = 0; i < rows.num_columns(); ++i) insert.copy(i, rows, i);
    insert.try_run();
  }
}

}  // namespace

std::span<const MergedTable> merged_tables() { return kTables; }

void merge_tables(Database& out, std::span<const MergeSource> sources, const MergeClocks& clocks, ChunkCodec codec,
                  Damage& damage) {
  RankRepeatWriter repeats(out, codec);
  for (const MergeSource& source : sources) {
    if (source.db == nullptr) continue;
    for (const MergedTable& table : kTables)
      if (table.rule == MergeRule::kAll || (table.rule == MergeRule::kHead && source.is_head()))
        copy_table(table.name, damage, [&] { copy_whole(out, source, table); });
    copy_table("rank_repeat", damage, [&] { copy_rank_repeats(repeats, source, clocks); });
    const auto rest = capture([&] {
      copy_incidents(out, source);
      if (source.is_head()) copy_meta(out, source);
      return true;
    });
    if (!rest) damage.meet(rest.error(), "what it says of faults may be missing");
  }
  repeats.flush();
  repeats.set_repeat_windows();
  const auto written = capture([&] {
    write_clocks(out, sources, clocks);
    return true;
  });
  if (!written) damage.meet(written.error(), "the exchanges of its clocks are missing");
}

}  // namespace spscope
