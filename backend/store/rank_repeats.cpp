#include "backend/store/rank_repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/store/event_table/rank_repeat_row.h"

namespace spscope {

namespace {

constexpr std::int64_t kFarNs = std::int64_t{1} << 61;  // no time of a run; times of damaged files stay below twice it

}  // namespace

void for_each_rank_repeat(Database& db, std::optional<RunId> run,
                          const std::function<void(const RankRepeat&)>& function) {
  const auto ask = [&](std::string_view columns, const char* table, const char* order) {
    Statement rows(
        db, fmt::format("SELECT {} FROM main.{} WHERE ?1 IS NULL OR run_id = ?1 ORDER BY {}", columns, table, order));
    rows.bind_all(run);
    return rows;
  };
  for (Statement rows = ask(kRankRepeatColumns, "rank_repeat", "run_id, repeat, rank"); rows.step();)
    function(rank_repeat_of(rows));
  for (Statement rows = ask(kRankRepeatChunkColumns, "rank_repeat_chunk", "run_id, rank, repeat_min"); rows.step();)
    for_each_of_row(rows, function);
}

UnreadRows read_rank_repeats(Database& db, const std::function<void(const RankRepeat&)>& function) {
  UnreadRows unread =
      read_rows(db, "rank_repeat", kRankRepeatColumns, [&](const Statement& row) { function(rank_repeat_of(row)); });
  const UnreadRows of_chunks = read_rows(db, "rank_repeat_chunk", kRankRepeatChunkColumns,
                                         [&](const Statement& row) { for_each_of_row(row, function); });
  unread.gaps += of_chunks.gaps;
  unread.bad_rows += of_chunks.bad_rows;
  if (!unread.cause) unread.cause = of_chunks.cause;
  return unread;
}

std::optional<std::int64_t> first_rank_repeat_ns(Database& db, std::optional<int> rank) {
  std::optional<std::int64_t> first_ns;
  read_rank_repeats(db, [&](const RankRepeat& repeat) {
    if (!rank || repeat.rank == *rank) first_ns = std::min(first_ns.value_or(repeat.begin_ns), repeat.begin_ns);
  });
  return first_ns;
}

RankRepeatWriter::RankRepeatWriter(Database& db, ChunkCodec codec)
    : db_(db),
      codec_(codec),
      insert_(db,
              "INSERT OR IGNORE INTO rank_repeat_chunk (run_id, rank, ranks, repeat_min, repeat_max, record_version, "
              "codec, "
              "count, begin_min_ns, begin_max_ns, end_max_ns, crc32c, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "?, ?)") {}

void RankRepeatWriter::begin_source() {
  flush();
  for (const auto& [key, passes] : open_) known_.insert(key);
  open_.clear();
}

void RankRepeatWriter::add(const RankRepeat& repeat) {
  const auto run = static_cast<std::int64_t>(repeat.run_id);
  const Key key(run, repeat.rank), pass(run, repeat.repeat);
  if (known_.contains(key)) return;
  if (has_full_ && pass != last_) flush();  // not before all ranks have this repeat: they may have it together
  last_ = pass;
  const Window window{repeat.begin_ns, std::max(repeat.begin_ns, repeat.end_ns), 0};
  Window& all = windows_.try_emplace(pass, window).first->second;
  all = {std::min(all.begin_ns, window.begin_ns), std::max(all.end_ns, window.end_ns), all.ranks + 1};
  std::vector<SpanEvent>& passes = open_[key];
  passes.push_back({.begin_ns = window.begin_ns, .end_ns = window.end_ns, .op_id = repeat.repeat});
  has_full_ |= passes.size() == kMaxChunkEvents;
}

void RankRepeatWriter::write(const Key& first, int ranks, std::span<const SpanEvent> passes) {
  if (passes.empty()) return;
  const EncodedChunk chunk = encode_chunk(passes, codec_);
  const ChunkHeader& h = chunk.header;
  insert_.run(first.first, first.second, ranks, h.op_min, h.op_max, h.record_version, h.codec, h.count, h.begin_min_ns,
              h.begin_max_ns, h.end_max_ns, h.crc32c, std::span<const std::uint8_t>(chunk.data));
}

void RankRepeatWriter::flush() {
  for (auto it = open_.begin(); it != open_.end();) {
    const auto first = it++;
    int ranks = 1;
    for (; ranks < kMaxRanksOfRow && it != open_.end() &&
           it->first == Key(first->first.first, first->first.second + ranks) && it->second == first->second;
         ++it)
      ++ranks;
    write(first->first, ranks, first->second);
  }
  for (auto& [key, passes] : open_) passes.clear();
  has_full_ = false;
}

void RankRepeatWriter::set_repeat_windows(const std::function<bool(RunId)>& recorded) {
  struct Row {
    std::int64_t run, repeat, begin_ns, end_ns, makespan_ns;
    bool has_timeline;
    std::int64_t ranks;  // of its plan; 0 when damage took that
  };
  std::vector<Row> rows;
  Statement read(db_,
                 "SELECT run_id, repeat, begin_ns, end_ns, r.makespan_ns, has_timeline, ifnull(ranks, 0) FROM repeat r "
                 "LEFT JOIN run USING (run_id) LEFT JOIN plan USING (plan_id) ORDER BY run_id, repeat");
  while (read.step())
    rows.push_back({read.integer(0), read.integer(1), read.integer(2), read.integer(3), read.integer(4), read.flag(5),
                    read.integer(6)});
  Statement update(db_,
                   "UPDATE repeat SET begin_ns = ?3, end_ns = ?4, has_timeline = ?5 WHERE run_id = ?1 AND repeat = ?2");
  std::int64_t free_ns = 0;
  for (Row& row : rows) {
    const auto found =
        std::in_range<int>(row.repeat) ? windows_.find({row.run, static_cast<int>(row.repeat)}) : windows_.end();
    const bool is_told = found != windows_.end();
    if (is_told) row.begin_ns = found->second.begin_ns, row.end_ns = found->second.end_ns;
    if (row.has_timeline && recorded(RunId{row.run})) {
      row.has_timeline = is_told && found->second.ranks >= row.ranks;
      if (!is_told) row.begin_ns = free_ns, row.end_ns = free_ns + std::clamp<std::int64_t>(row.makespan_ns, 0, kFarNs);
    }
    free_ns = std::max(free_ns, std::min(row.end_ns, kFarNs) + 1);
    update.run(row.run, row.repeat, row.begin_ns, row.end_ns, row.has_timeline);
  }
}

}  // namespace spscope
