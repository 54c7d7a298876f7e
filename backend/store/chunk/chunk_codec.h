// Events as chunks: up to 4,096 records of one track and run, column by column and byte by byte.
//
//   u8 width of each column | i64 first begin | u16 stored size of each plane | the planes
//
// A column holds one unsigned number a record. Its width is the bytes that its largest number takes; it has as many
// planes, the lowest first: plane p holds byte p of each number, record by record. So a column of zeros takes nothing,
// and high bytes, which hardly change, stand together. A plane whose stored size is less than the number of records is
// compressed with zstd. The columns, in order:
//
//   span        gap = begin minus the end of the record before (zigzag, 0 for the first); duration = end - begin;
//               op_id minus that of the record before (zigzag, -1 before the first); name; flags
//   collective  those of a span; entry - begin (zigzag); transfer begin - entry (zigzag); transfer end - end (zigzag);
//               sequence minus that before (zigzag, 0 before the first); bytes (zigzag); communicator; peer + 1
//   work        those of a span; bytes (zigzag); correlation minus that before (32 bits, zigzag, 0 before the first);
//               detail
//   counter     time minus that before (zigzag, 0 for the first); bits of the value XOR those before, first byte last
//
// All differences wrap at 2^64, so every record comes back as it was. Numbers are little-endian.
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
enum class RecordKind : std::uint8_t { kSpan = 0, kCollective = 1, kCounter = 2, kWork = 3 };
inline constexpr int kNumRecordKinds = 4;
std::string_view record_kind_name(RecordKind kind);
// How the data of a chunk is packed. Stored number: the layout above is the only one so far.
enum class ChunkCodec : std::uint8_t { kPlanes = 1 };
std::string_view chunk_codec_name(ChunkCodec codec);

inline constexpr int kMaxChunkEvents = 4096;
inline constexpr int kMaxChunkColumns = 12;  // those of a collective

// What the row of a chunk says about its data. Of counters, begin and end are the time, and op_id is -1.
struct ChunkHeader {
  RecordKind kind = RecordKind::kSpan;
  ChunkCodec codec = ChunkCodec::kPlanes;
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

// Which planes are tried, and how hard; those that zstd does not at least halve are stored as they are. Shards, which
// are written while ranks run and read once, leave out the low bytes of times, which are noise.
enum class Compress : bool { kFast, kBest };

// REQUIRES: 1 to kMaxChunkEvents records.
EncodedChunk encode_chunk(std::span<const SpanEvent> events, Compress compress);
EncodedChunk encode_chunk(std::span<const CollectiveEvent> events, Compress compress);
EncodedChunk encode_chunk(std::span<const CounterSample> samples, Compress compress);
EncodedChunk encode_chunk(std::span<const WorkEvent> work, Compress compress);

// Append the records of a chunk to `out`. They throw Error (kStoreCorrupt) unless data and header are what
// encode_chunk would make: the checksum fits, sizes agree, no event ends before it begins, and the bounds are true.
// decode_spans takes collectives and work too, and leaves out what they have beyond a span.
void decode_spans(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<SpanEvent>& out);
void decode_collectives(const ChunkHeader& header, std::span<const std::uint8_t> data,
                        std::vector<CollectiveEvent>& out);
void decode_counters(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<CounterSample>& out);
void decode_work(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<WorkEvent>& out);

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
  };                                                                   // of spans and collectives
  enum WorkColumn { kWorkBytes = kFlags + 1, kCorrelation, kDetail };  // behind those of a span
  enum CounterColumn { kTime, kValue };

  // Checks the checksum and all sizes and throws Error (kStoreCorrupt). The data must outlive this.
  ChunkColumns(const ChunkHeader& header, std::span<const std::uint8_t> data);

  int count() const { return count_; }
  std::int64_t first_begin_ns() const { return first_begin_ns_; }
  // Values `first` to `first + out.size() - 1` of a column as they are stored: still zigzag, still differences. Throws
  // Error (kStoreCorrupt) when a plane cannot be decompressed.
  // REQUIRES: first + out.size() <= count().
  void unpack(int column, int first, std::span<std::uint64_t> out);
  // Value `index` of a column of which few are wanted.
  std::uint64_t value(int column, int index);
  // Appends the indices of the events with one of these names, ascending. REQUIRES: not counters.
  void find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found);

 private:
  struct Plane {
    const std::uint8_t* bytes = nullptr;
    std::size_t stored = 0;                    // bytes; as many as records: not compressed
    std::unique_ptr<std::uint8_t[]> unpacked;  // of a compressed one, once it was asked for
  };
  const std::uint8_t* bytes_of(Plane& plane) const;

  int count_ = 0;
  std::int64_t first_begin_ns_ = 0;
  std::size_t first_plane_[kMaxChunkColumns + 1] = {};  // of each column, and the number of all
  std::vector<Plane> planes_;
};

}  // namespace spscope
