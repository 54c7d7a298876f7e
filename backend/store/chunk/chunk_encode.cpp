// Packing: one pass over the records computes the numbers of all columns, block by block so that the records of a block
// stay in the nearest cache, and the bits that any number of a column has, which say how many planes it gets. Then the
// numbers are split into planes. No inner loop branches.
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_columns.h"

namespace spscope {

namespace {

using chunk_columns::Columns;
using chunk_columns::width_of;

// Measured on runs of 8 ranks: level 3 saves no more than level 1, and level -1 takes a fifth more bytes in less time.
constexpr int level_of(Compress compress) { return compress == Compress::kBest ? 1 : -1; }
// Of a time, planes below this one are noise, of which kFast tries none.
constexpr int kNoisePlanes = 2;
// The smallest plane that is tried: a frame takes about 20 bytes, and has to halve the plane.
constexpr std::size_t kLeastTried = 40;

constexpr std::size_t kEncodeBlock = 128;  // records at a time

// What encoding needs besides its result. Each thread that encodes has one, since making a context of zstd takes longer
// than compressing ten planes.
struct Workspace {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  // The low halves of the numbers of each column; whole ones of a column that needs them.
  std::array<std::array<std::uint32_t, kMaxChunkEvents>, kMaxChunkColumns> columns;
  std::array<std::uint64_t, kMaxChunkEvents> wide;
  std::array<std::uint8_t, kMaxChunkEvents> plane;
};
Workspace& workspace() {
  thread_local const std::unique_ptr<Workspace> own = std::make_unique<Workspace>();
  SPSCOPE_CHECK(own->context != nullptr);
  return *own;
}

// The planes of one chunk, written one after the other into memory that has room for all of them uncompressed.
class PlaneWriter {
 public:
  PlaneWriter(Workspace& work, std::size_t count, Compress compress, std::uint8_t* sizes, std::uint8_t* planes)
      : work_(work), count_(count), level_(level_of(compress)), next_size_(sizes), next_(planes) {}

  // Byte `plane` of each number; `try_zstd`: compressed, where that at least halves it.
  template <typename Number>
  void add(const Number* numbers, int plane, bool try_zstd) {
    std::size_t stored = count_;
    if (try_zstd && count_ >= kLeastTried) {
      split(numbers, plane, work_.plane.data());
      stored = ZSTD_compressCCtx(work_.context.get(), next_, count_ / 2, work_.plane.data(), count_, level_);
      if (ZSTD_isError(stored) != 0) {  // there is no room for more than half
        stored = count_;
        std::memcpy(next_, work_.plane.data(), count_);
      }
    } else {
      split(numbers, plane, next_);
    }
    next_ += stored;
    const auto size = static_cast<std::uint16_t>(stored);
    std::memcpy(next_size_, &size, sizeof size);
    next_size_ += sizeof size;
  }

  const std::uint8_t* end() const { return next_; }

 private:
  template <typename Number>
  void split(const Number* __restrict numbers, int plane, std::uint8_t* __restrict out) const {
    const int shift = 8 * plane;
    const std::size_t count = count_;
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint8_t>(numbers[i] >> shift);
  }

  Workspace& work_;
  std::size_t count_;
  int level_;
  std::uint8_t* next_size_;
  std::uint8_t* next_;
};

template <typename Record>
ChunkHeader first_header(const Record& record) {
  using C = Columns<Record>;
  ChunkHeader header;
  header.kind = C::kKind;
  header.begin_min_ns = header.begin_max_ns = C::begin(record);
  header.end_max_ns = C::end(record);
  header.op_min = header.op_max = C::op(record);
  return header;
}

template <typename Record>
void extend(ChunkHeader& header, std::span<const Record> records) {
  using C = Columns<Record>;
  ChunkHeader h = header;
  for (const Record& record : records) {
    h.begin_min_ns = std::min(h.begin_min_ns, C::begin(record));
    h.begin_max_ns = std::max(h.begin_max_ns, C::begin(record));
    h.end_max_ns = std::max(h.end_max_ns, C::end(record));
    h.op_min = std::min(h.op_min, C::op(record));
    h.op_max = std::max(h.op_max, C::op(record));
  }
  header = h;
  header.count += static_cast<int>(records.size());
}

// Fills in the numbers of a column and returns the bits that any of them has. `before`: the record before the first.
template <typename Record, int column, typename Number>
std::uint64_t fill(const Record* before, std::span<const Record> records, Number* numbers) {
  std::uint64_t all = 0;
  for (const Record& record : records) {
    const std::uint64_t x = Columns<Record>::template get<column>(*before, record);
    all |= x;
    *numbers++ = static_cast<Number>(x);
    before = &record;
  }
  return all;
}

template <typename Record, int... columns>
EncodedChunk encode(std::span<const Record> records, Compress compress, std::integer_sequence<int, columns...>) {
  using C = Columns<Record>;
  SPSCOPE_CHECK(!records.empty() && records.size() <= kMaxChunkEvents);
  Workspace& work = workspace();
  EncodedChunk chunk;
  chunk.header = first_header(records[0]);
  const std::int64_t first_ns = C::begin(records[0]);
  const Record before_first = C::before_first(first_ns);
  std::array<std::uint64_t, sizeof...(columns)> all{};
  for (std::size_t first = 0; first < records.size(); first += kEncodeBlock) {
    const std::span<const Record> block = records.subspan(first, std::min(kEncodeBlock, records.size() - first));
    const Record* const before = first == 0 ? &before_first : &records[first - 1];
    extend(chunk.header, block);
    ((all[columns] |= fill<Record, columns>(before, block, work.columns[columns].data() + first)), ...);
  }

  std::array<std::uint8_t, sizeof...(columns)> widths{};
  std::size_t num_planes = 0;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    widths[c] = static_cast<std::uint8_t>(width_of(all[c]));
    num_planes += widths[c];
  }
  const std::size_t head_bytes = widths.size() + sizeof first_ns, size_bytes = num_planes * sizeof(std::uint16_t);
  chunk.data.resize(head_bytes + size_bytes + num_planes * records.size());
  std::uint8_t* const data = chunk.data.data();
  std::memcpy(data, widths.data(), widths.size());
  std::memcpy(data + widths.size(), &first_ns, sizeof first_ns);
  PlaneWriter planes(work, records.size(), compress, data + head_bytes, data + head_bytes + size_bytes);
  const auto add = [&]<int column>(std::integral_constant<int, column>) {
    const int width = widths[column];
    const auto tries = [&](int plane) {
      return compress == Compress::kBest || !C::kIsTime[column] || plane >= kNoisePlanes;
    };
    if (width <= static_cast<int>(sizeof(std::uint32_t))) {
      for (int p = 0; p < width; ++p) planes.add(work.columns[column].data(), p, tries(p));
      return;
    }
    fill<Record, column>(&before_first, records, work.wide.data());
    for (int p = 0; p < width; ++p) planes.add(work.wide.data(), p, tries(p));
  };
  (add(std::integral_constant<int, columns>()), ...);
  chunk.data.resize(static_cast<std::size_t>(planes.end() - data));
  chunk.header.crc32c = crc32c(chunk.data);
  return chunk;
}

template <typename Record>
EncodedChunk encode(std::span<const Record> records, Compress compress) {
  return encode(records, compress, std::make_integer_sequence<int, Columns<Record>::kCount>());
}

}  // namespace

std::string_view record_kind_name(RecordKind kind) {
  static constexpr std::string_view names[kNumRecordKinds] = {"span", "collective", "counter", "work"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view chunk_codec_name(ChunkCodec) { return "planes"; }

EncodedChunk encode_chunk(std::span<const SpanEvent> events, Compress compress) { return encode(events, compress); }
EncodedChunk encode_chunk(std::span<const CollectiveEvent> events, Compress compress) {
  return encode(events, compress);
}
EncodedChunk encode_chunk(std::span<const CounterSample> samples, Compress compress) {
  return encode(samples, compress);
}
EncodedChunk encode_chunk(std::span<const WorkEvent> work, Compress compress) { return encode(work, compress); }

}  // namespace spscope
