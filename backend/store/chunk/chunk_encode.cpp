// Packing: the numbers of a column are written down one after the other, and what bits any of them has says how many
// planes the column gets. Nothing in the loops over records branches.
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

// Measured on runs of 8 ranks: level 3 saves no more, and negative levels take a fifth more bytes.
constexpr int kZstdLevel = 1;

// The planes of one chunk.
class Planes {
 public:
  Planes(std::size_t count, Compress compress) : count_(count) {
    if (compress == Compress::kNo) return;
    context_.reset(ZSTD_createCCtx());
    SPSCOPE_CHECK(context_ != nullptr);
  }

  void add(std::span<const std::uint64_t> values, int plane) {
    const std::size_t at = bytes.size();
    bytes.resize(at + count_);
    std::uint8_t* const out = bytes.data() + at;
    const int shift = 8 * plane;
    for (std::size_t i = 0; i < count_; ++i) out[i] = static_cast<std::uint8_t>(values[i] >> shift);
    std::size_t stored = count_;
    if (context_ != nullptr) {
      // No room for more than half: then the call fails, and the plane stays as it is.
      const std::size_t small = ZSTD_compressCCtx(context_.get(), scratch_.data(), count_ / 2, out, count_, kZstdLevel);
      if (ZSTD_isError(small) == 0) {
        std::memcpy(out, scratch_.data(), small);
        bytes.resize(at + small);
        stored = small;
      }
    }
    sizes.push_back(static_cast<std::uint16_t>(stored));
  }

  std::vector<std::uint8_t> bytes;
  std::vector<std::uint16_t> sizes;

 private:
  std::size_t count_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_{nullptr, &ZSTD_freeCCtx};
  std::array<std::uint8_t, kMaxChunkEvents / 2> scratch_;
};

template <typename Record>
ChunkHeader header_of(std::span<const Record> records) {
  using C = Columns<Record>;
  ChunkHeader header;
  header.kind = C::kKind;
  header.count = static_cast<int>(records.size());
  header.begin_min_ns = header.begin_max_ns = C::begin(records[0]);
  header.end_max_ns = C::end(records[0]);
  header.op_min = header.op_max = C::op(records[0]);
  for (const Record& record : records) {
    header.begin_min_ns = std::min(header.begin_min_ns, C::begin(record));
    header.begin_max_ns = std::max(header.begin_max_ns, C::begin(record));
    header.end_max_ns = std::max(header.end_max_ns, C::end(record));
    header.op_min = std::min(header.op_min, C::op(record));
    header.op_max = std::max(header.op_max, C::op(record));
  }
  return header;
}

// Fills in the numbers of a column and returns its width.
template <typename Record, int column>
int numbers_of(std::span<const Record> records, std::uint64_t* values) {
  using C = Columns<Record>;
  std::uint64_t all = values[0] = C::template get<column>(C::before_first(C::begin(records[0])), records[0]);
  for (std::size_t i = 1; i < records.size(); ++i)
    all |= values[i] = C::template get<column>(records[i - 1], records[i]);
  return width_of(all);
}

template <typename Record, int... columns>
EncodedChunk encode(std::span<const Record> records, Compress compress, std::integer_sequence<int, columns...>) {
  SPSCOPE_CHECK(!records.empty() && records.size() <= kMaxChunkEvents);
  std::array<std::uint64_t, kMaxChunkEvents> values;
  std::array<std::uint8_t, sizeof...(columns)> widths{};
  Planes planes(records.size(), compress);
  const auto add = [&]<int column>(std::integral_constant<int, column>) {
    const int width = numbers_of<Record, column>(records, values.data());
    widths[column] = static_cast<std::uint8_t>(width);
    for (int plane = 0; plane < width; ++plane) planes.add(std::span(values).first(records.size()), plane);
  };
  (add(std::integral_constant<int, columns>()), ...);

  EncodedChunk chunk;
  chunk.header = header_of(records);
  const std::int64_t first_ns = Columns<Record>::begin(records[0]);
  const std::size_t size_bytes = planes.sizes.size() * sizeof(std::uint16_t);
  chunk.data.resize(widths.size() + sizeof first_ns + size_bytes + planes.bytes.size());
  std::uint8_t* out = chunk.data.data();
  const auto put = [&](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(out, from, bytes);
    out += bytes;
  };
  put(widths.data(), widths.size());
  put(&first_ns, sizeof first_ns);
  put(planes.sizes.data(), size_bytes);
  put(planes.bytes.data(), planes.bytes.size());
  chunk.header.crc32c = crc32c(chunk.data);
  return chunk;
}

template <typename Record>
EncodedChunk encode(std::span<const Record> records, Compress compress) {
  return encode(records, compress, std::make_integer_sequence<int, Columns<Record>::kCount>());
}

}  // namespace

std::string_view record_kind_name(RecordKind kind) {
  static constexpr std::string_view names[kNumRecordKinds] = {"span", "collective", "counter"};
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

}  // namespace spscope
