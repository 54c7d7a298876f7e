#include "backend/store/chunk/chunk_appender.h"

#include <algorithm>

#include "backend/store/chunk/chunk_row.h"

namespace spscope {

ChunkAppender::ChunkAppender(Database& db, Compress compress)
    : compress_(compress),
      insert_(db,
              "INSERT INTO chunk (run_id, track_id, seq, record_kind, codec, count, begin_min_ns, "
              "begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) "
              "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

ChunkAppender::Open& ChunkAppender::at(TrackId track) {
  const auto [it, is_new] = tracks_.try_emplace(static_cast<std::int64_t>(track));
  if (is_new) it->second.track = track;
  return it->second;
}

template <typename Record>
void ChunkAppender::write(Open& open, std::vector<Record>& buffer) {
  if (buffer.empty()) return;
  const EncodedChunk chunk = encode_chunk(std::span<const Record>(buffer), compress_);
  const ChunkHeader& h = chunk.header;
  insert_.run(stored_run(open.run), open.track, open.next_seq, h.kind, h.codec, h.count, h.begin_min_ns, h.begin_max_ns,
              h.end_max_ns, h.op_min, h.op_max, h.crc32c, std::span<const std::uint8_t>(chunk.data));
  ++open.next_seq;
  buffer.clear();
}

void ChunkAppender::write_all(Open& open) {
  write(open, open.spans);
  write(open, open.collectives);
  write(open, open.counters);
  write(open, open.work);
}

template <typename Record>
void ChunkAppender::add(RunId run, Open& open, std::vector<Record>& buffer, std::span<const Record> records) {
  if (records.empty()) return;
  if (open.run != run) {
    write_all(open);
    open.run = run;
  }
  if (!open.waiting) {
    open.waiting = true;
    waiting_.push_back(&open);
  }
  while (!records.empty()) {
    const std::size_t room = std::min(records.size(), static_cast<std::size_t>(kMaxChunkEvents) - buffer.size());
    buffer.insert(buffer.end(), records.begin(), records.begin() + static_cast<std::ptrdiff_t>(room));
    records = records.subspan(room);
    if (buffer.size() == kMaxChunkEvents) write(open, buffer);
  }
}

void ChunkAppender::append(RunId run, Open& open, std::span<const SpanEvent> events) {
  add(run, open, open.spans, events);
}
void ChunkAppender::append(RunId run, Open& open, std::span<const CollectiveEvent> events) {
  add(run, open, open.collectives, events);
}
void ChunkAppender::append(RunId run, Open& open, std::span<const CounterSample> samples) {
  add(run, open, open.counters, samples);
}
void ChunkAppender::append(RunId run, Open& open, std::span<const WorkEvent> work) { add(run, open, open.work, work); }

void ChunkAppender::flush() {
  for (Open* open : waiting_) {
    write_all(*open);
    open->waiting = false;
  }
  waiting_.clear();
}

}  // namespace spscope
