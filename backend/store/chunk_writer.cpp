#include "backend/store/chunk_writer.h"

#include <algorithm>
#include <vector>

#include "backend/store/sqlite.h"

namespace spscope {

struct ChunkWriter::State {
  State(Database& db, ChunkCodec codec)
      : codec(codec),
        insert(db,
               "INSERT INTO chunk (run_id, stream_id, seq, record_kind, record_version, codec, count, begin_min_ns,"
               " begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) "
               "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)") {}

  template <typename Record>
  void write(std::span<const Record> records) {
    const EncodedChunk chunk = encode_chunk(records, codec);
    const ChunkHeader& h = chunk.header;
    insert.run(run, stream, seq++, h.kind, h.record_version, h.codec, h.count, h.begin_min_ns, h.begin_max_ns,
               h.end_max_ns, h.op_min, h.op_max, h.crc32c, std::span<const std::uint8_t>(chunk.data));
  }

  template <typename Record>
  void write_rest(std::vector<Record>& buffer) {
    if (!buffer.empty()) write(std::span<const Record>(buffer));
    buffer.clear();
  }

  void write_rest() {
    write_rest(spans);
    write_rest(collectives);
    write_rest(counters);
  }

  // Events that fill a chunk are encoded from where they are.
  template <typename Record>
  void append(RunId of_run, std::span<const Record> records, std::vector<Record>& buffer) {
    if (of_run != run) write_rest();
    run = of_run;
    while (!records.empty()) {
      if (buffer.empty() && records.size() >= kMaxChunkEvents) {
        write(records.first(kMaxChunkEvents));
        records = records.subspan(kMaxChunkEvents);
        continue;
      }
      const std::size_t room = std::min(records.size(), kMaxChunkEvents - buffer.size());
      buffer.insert(buffer.end(), records.begin(), records.begin() + static_cast<std::ptrdiff_t>(room));
      records = records.subspan(room);
      if (buffer.size() == kMaxChunkEvents) write_rest(buffer);
    }
  }

  ChunkCodec codec;
  Statement insert;
  StreamId stream = {};
  std::int64_t seq = 0;
  RunId run = {};
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> counters;
};

ChunkWriter::ChunkWriter(Database& db, ChunkCodec codec) : state_(std::make_unique<State>(db, codec)) {}
ChunkWriter::~ChunkWriter() = default;

void ChunkWriter::begin_stream(StreamId stream) {
  end_stream();
  state_->stream = stream;
  state_->seq = 0;
}

void ChunkWriter::append(RunId run, std::span<const SpanEvent> events) { state_->append(run, events, state_->spans); }
void ChunkWriter::append(RunId run, std::span<const CollectiveEvent> events) {
  state_->append(run, events, state_->collectives);
}
void ChunkWriter::append(RunId run, std::span<const CounterSample> samples) {
  state_->append(run, samples, state_->counters);
}
void ChunkWriter::end_stream() { state_->write_rest(); }

}  // namespace spscope
