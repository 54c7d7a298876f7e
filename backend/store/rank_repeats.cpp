#include "backend/store/rank_repeats.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/store/open_store.h"
#include "backend/store/rank_repeat_row.h"

namespace spscope {

namespace {

// As read_rows; of what stands in for a table in a damaged file there are no rows.
UnreadRows read_table(Database& db, std::string_view table, std::string_view columns, bool tolerant,
                      const std::function<void(const Statement&)>& read) {
  if (!tolerant || is_ordinary_table(db, table)) return read_rows(db, table, columns, tolerant, read);
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read \"{}\": it has no table {}", db.path(), table));
}

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

UnreadRows read_rank_repeats(Database& db, bool tolerant, const std::function<void(const RankRepeat&)>& function) {
  UnreadRows unread = read_table(db, "rank_repeat", kRankRepeatColumns, tolerant,
                                 [&](const Statement& row) { function(rank_repeat_of(row)); });
  const UnreadRows of_chunks = read_table(db, "rank_repeat_chunk", kRankRepeatChunkColumns, tolerant,
                                          [&](const Statement& row) { for_each_of_row(row, function); });
  unread.gaps += of_chunks.gaps;
  unread.bad_rows += of_chunks.bad_rows;
  if (!unread.cause) unread.cause = of_chunks.cause;
  if (of_chunks.any()) unread.keys.emplace_back();  // the keys of chunks say nothing of runs
  return unread;
}

std::optional<std::int64_t> first_rank_repeat_ns(Database& db, std::optional<int> rank, bool tolerant) {
  std::optional<std::int64_t> first_ns;
  const auto offer = [&](const Statement& row) {
    const std::int64_t begin_ns = row.integer(2), first_rank = row.count(0);
    if (rank && (*rank < first_rank || *rank - first_rank >= row.count(1))) return;
    first_ns = std::min(first_ns.value_or(begin_ns), begin_ns);
  };
  read_table(db, "rank_repeat", "rank, 1, begin_ns", tolerant, offer);
  read_table(db, "rank_repeat_chunk", "rank, ranks, begin_min_ns", tolerant, offer);
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
  const Window window{repeat.begin_ns, std::max(repeat.begin_ns, repeat.end_ns)};
  const auto [it, is_new] = windows_.try_emplace(pass, window);
  it->second = {std::min(it->second.begin_ns, window.begin_ns), std::max(it->second.end_ns, window.end_ns)};
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

void RankRepeatWriter::set_repeat_windows() {
  Statement update(db_, "UPDATE repeat SET begin_ns = ?3, end_ns = ?4 WHERE run_id = ?1 AND repeat = ?2");
  for (const auto& [key, window] : windows_) update.run(key.first, key.second, window.begin_ns, window.end_ns);
}

}  // namespace spscope
