#include "backend/store/chunk/stored_chunk.h"

#include <fmt/format.h>

#include <string>

#include "backend/base/result.h"
#include "backend/store/chunk/chunk_row.h"

namespace spscope {

namespace {

StoredChunk chunk_of(const Statement& row) {
  StoredChunk chunk;
  chunk.chunk_id = row.integer(0);
  chunk.run_id = chunk_run(row, 1);
  chunk.track_id = TrackId{row.integer(2)};
  chunk.seq = row.integer(3);
  chunk.header = chunk_header(row, 4);
  chunk.data = row.blob(13);
  return chunk;
}

// Like function(chunk), but damage of the chunk is reported to the filter, and the next one follows.
void try_chunk(const Statement& row, const ChunkFilter& filter,
               const std::function<void(const StoredChunk&)>& function) {
  const std::optional<Error> failure = failure_of([&] { function(chunk_of(row)); });
  if (!failure) return;
  if (failure->code() != ErrorCode::kStoreCorrupt) throw *failure;
  filter.on_bad(row.integer(0), *failure);
}

}  // namespace

void for_each_chunk(Database& db, const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function) {
  std::string sql = fmt::format("SELECT chunk_id, run_id, track_id, seq, {}, data FROM main.chunk WHERE chunk_id > ?1",
                                kChunkHeaderColumns);
  if (!filter.on_bad) sql += " AND begin_min_ns < ?2 AND end_max_ns >= ?3";
  if (filter.run_id) sql += " AND run_id IS ?4";
  if (filter.track_id) sql += " AND track_id = ?5";
  sql += filter.run_id || filter.track_id ? " ORDER BY track_id, seq" : " ORDER BY chunk_id";
  Statement rows(db, sql);
  rows.bind(0, filter.after_chunk_id);
  if (!filter.on_bad) rows.bind(1, filter.window.end_ns);
  if (!filter.on_bad) rows.bind(2, filter.window.begin_ns);
  if (filter.run_id) rows.bind(3, stored_run(*filter.run_id));
  if (filter.track_id) rows.bind(4, *filter.track_id);
  db.cancel_token().require_going();
  while (rows.step()) {
    db.cancel_token().require_going();
    if (filter.on_bad)
      try_chunk(rows, filter, function);
    else
      function(chunk_of(rows));
  }
}

}  // namespace spscope
