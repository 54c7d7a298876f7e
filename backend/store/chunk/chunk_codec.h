// Events as chunks: up to 4,096 records of one stream and run, column by column. Spans and collectives are written in
// version 2 of the records, which chunk_labelled.h tells; counters, and records as they lie in memory, in version 1:
//
//   codec 0  the records as they lie in memory (events.h), for tests
//   codec 1  u8 width of each column; i64 first begin; then each column with `width` bytes a value; 8 bytes of zero
//   codec 2  u8 width of each column; i64 first begin; u32 stored size of each column; then each column, compressed
//            with zstd where its stored size is less than width x count; 8 bytes of zero
//
// Version 2 has codec 1, and codec 3 for files that shall be small.
//
// A value is an unsigned number in its low bytes; a width of 0 stands for a column of zeros. The columns, in order:
//
//   span        gap = begin minus the end of the record before (zigzag, 0 for the first); duration = end - begin;
//               op_id minus that of the record before (zigzag, -1 before the first); name; flags
//   collective  those of a span; entry - begin (zigzag); transfer begin - entry (zigzag); transfer end - end (zigzag);
//               sequence minus that before (zigzag, 0 before the first); bytes (zigzag); communicator; peer + 1
//   counter     time minus that before (zigzag, 0 for the first); bits of the value XOR those before, first byte last
//
// All differences wrap at 2^64, so every record comes back as it was. The padding lets readers load eight bytes
// wherever a value begins. Layouts and numbers are stored: they are only ever added to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

// Stored numbers: append only.
enum class RecordKind : std::uint8_t { kSpan = 0, kCollective = 1, kCounter = 2 };
inline constexpr int kNumRecordKinds = 3;
std::string_view record_kind_name(RecordKind kind);
enum class ChunkCodec : std::uint8_t { kRaw = 0, kPacked = 1, kPackedZstd = 2, kCoded = 3 };
inline constexpr int kNumChunkCodecs = 4;
std::string_view chunk_codec_name(ChunkCodec codec);

inline constexpr int kMaxChunkEvents = 4096;
inline constexpr int kRecordVersion = 2;  // the newest

// What the row of a chunk says about its data. Of counters, begin and end are the time, and op_id is -1.
struct ChunkHeader {
  RecordKind kind = RecordKind::kSpan;
  int record_version = 1;
  ChunkCodec codec = ChunkCodec::kPacked;
  int count = 0;
  std::int64_t begin_min_ns = 0, begin_max_ns = 0, end_max_ns = 0;
  std::int64_t op_min = -1, op_max = -1;
  std::uint32_t crc32c = 0;  // of the data
  friend bool operator==(const ChunkHeader&, const ChunkHeader&) = default;
};

struct EncodedChunk {
  ChunkHeader header;
  std::vector<std::uint8_t> data;
};

// REQUIRES: 1 to kMaxChunkEvents records. Of a version of the records; codecs 0 and 2 and counters have version 1 only,
// and in version 1 codec 2 stands for 3.
EncodedChunk encode_chunk(std::span<const SpanEvent> events, ChunkCodec codec, int version = kRecordVersion);
EncodedChunk encode_chunk(std::span<const CollectiveEvent> events, ChunkCodec codec, int version = kRecordVersion);
EncodedChunk encode_chunk(std::span<const CounterSample> samples, ChunkCodec codec);

// Append the records of a chunk to `out`. They throw Error (kStoreCorrupt) unless data and header are what
// encode_chunk would make: the checksum fits, sizes agree, no event ends before it begins, and the bounds are true.
// decode_spans takes collectives too, and leaves out what they have beyond a span.
void decode_spans(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<SpanEvent>& out);
void decode_collectives(const ChunkHeader& header, std::span<const std::uint8_t> data,
                        std::vector<CollectiveEvent>& out);
void decode_counters(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<CounterSample>& out);

class LabelledColumns;

// The columns of a chunk, to be read one by one without making records: for scans that need only some.
class ChunkColumns {
 public:
  enum Column {
    kGap,
    kDuration,
    kOp,
    kName,
    kFlags,
    kEntry,
    kTransferBegin,
    kTransferEnd,
    kSequence,
    kBytes,
    kCommunicator,
    kPeer
  };  // of spans and collectives
  enum CounterColumn { kTime, kValue };

  // Checks the checksum and all sizes and throws Error (kStoreCorrupt). The data must outlive this.
  ChunkColumns(const ChunkHeader& header, std::span<const std::uint8_t> data);
  ~ChunkColumns();
  ChunkColumns(ChunkColumns&&) noexcept;
  ChunkColumns& operator=(ChunkColumns&&) noexcept;

  int count() const { return count_; }
  std::int64_t first_begin_ns() const { return first_begin_ns_; }
  // Values `first` to `first + out.size() - 1` of a column as version 1 stores them: still zigzag, still differences.
  // REQUIRES: first + out.size() <= count().
  void unpack(int column, int first, std::span<std::uint64_t> out) const;
  // Value `index` of a column of which few are wanted.
  std::uint64_t value(int column, int index) const;
  // Appends the indices of the events with one of these names, ascending. REQUIRES: not counters.
  void find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found) const;

 private:
  static constexpr std::size_t kMaxColumns = 12;
  void open_packed(std::span<const std::uint8_t> data, std::size_t num_columns);
  void open_compressed(std::span<const std::uint8_t> data, std::size_t num_columns);

  int count_ = 0;
  std::int64_t first_begin_ns_ = 0;
  std::uint8_t widths_[kMaxColumns] = {};
  const std::uint8_t* columns_[kMaxColumns] = {};
  std::vector<std::uint8_t> own_;              // columns that data does not hold as they are read
  std::unique_ptr<LabelledColumns> labelled_;  // of version 2; then nothing else is used
};

}  // namespace spscope
