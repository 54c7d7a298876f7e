#include "backend/store/stored_chunk.h"

#include <limits>
#include <string>

namespace spscope {

namespace {

StoredChunk chunk_of(const Statement& row) {
  StoredChunk chunk;
  chunk.chunk_id = row.integer(0);
  chunk.run_id = RunId{row.integer(1)};
  chunk.stream_id = StreamId{row.integer(2)};
  chunk.seq = row.integer(3);
  ChunkHeader& h = chunk.header;
  h.kind = static_cast<RecordKind>(row.integer(4, 0, kNumRecordKinds - 1));
  h.record_version = row.count(5);
  h.codec = static_cast<ChunkCodec>(row.integer(6, 0, kNumChunkCodecs - 1));
  h.count = static_cast<int>(row.integer(7, 1, kMaxChunkEvents));
  h.begin_min_ns = row.integer(8);
  h.begin_max_ns = row.integer(9);
  h.end_max_ns = row.integer(10);
  h.op_min = row.integer(11);
  h.op_max = row.integer(12);
  h.crc32c = static_cast<std::uint32_t>(row.integer(13, 0, std::numeric_limits<std::uint32_t>::max()));
  chunk.data = row.blob(14);
  return chunk;
}

}  // namespace

void for_each_chunk(Database& db, const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function) {
  std::string sql =
      "SELECT chunk_id, run_id, stream_id, seq, record_kind, record_version, codec, count, begin_min_ns, "
      "begin_max_ns, end_max_ns, op_min, op_max, crc32c, data FROM main.chunk "
      "WHERE chunk_id > ?1 AND begin_min_ns < ?2 AND end_max_ns >= ?3";
  if (filter.run_id) sql += " AND run_id = ?4";
  if (filter.stream_id) sql += " AND stream_id = ?5";
  sql += filter.run_id || filter.stream_id ? " ORDER BY stream_id, seq" : " ORDER BY chunk_id";
  Statement rows(db, sql);
  rows.bind(0, filter.after_chunk_id);
  rows.bind(1, filter.window.end_ns);
  rows.bind(2, filter.window.begin_ns);
  if (filter.run_id) rows.bind(3, *filter.run_id);
  if (filter.stream_id) rows.bind(4, *filter.stream_id);
  while (rows.step()) function(chunk_of(rows));
}

}  // namespace spscope
