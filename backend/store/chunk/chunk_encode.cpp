// Packing: one pass over the records finds the largest number of each column, a second one stores them. Both loops are
// made for one column and one width, without branches; each value is stored as eight bytes, of which the next value
// overwrites what the width leaves over.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/chunk_labelled.h"
#include "backend/store/chunk/zstd_column.h"

namespace spscope {

namespace {

using chunk_columns::Columns;
using chunk_columns::width_of;

constexpr std::size_t kPadding = 8;

template <typename Record, int column, int width>
void pack(const Record& before_first, std::span<const Record> records, std::uint8_t* out) {
  const auto store = [&](std::size_t i, std::uint64_t x) {
    std::memcpy(out + i * static_cast<std::size_t>(width), &x, sizeof x);
  };
  if constexpr (width > 0) {
    store(0, Columns<Record>::template get<column>(before_first, records[0]));
    for (std::size_t i = 1; i < records.size(); ++i)
      store(i, Columns<Record>::template get<column>(records[i - 1], records[i]));
  }
}

template <typename Record>
using Pack = void (*)(const Record&, std::span<const Record>, std::uint8_t*);

template <typename Record, int column, int... widths>
constexpr std::array<Pack<Record>, 9> packs_of(std::integer_sequence<int, widths...>) {
  return {&pack<Record, column, widths>...};
}

template <typename Record>
struct Measured {
  ChunkHeader header;
  Record before_first;
  std::array<std::uint8_t, static_cast<std::size_t>(Columns<Record>::kCount)> widths{};
};

template <typename Record, int... columns>
Measured<Record> measure(std::span<const Record> records, std::integer_sequence<int, columns...>) {
  using C = Columns<Record>;
  Measured<Record> m;
  m.before_first = C::before_first(C::begin(records[0]));
  m.header.kind = C::kKind;
  m.header.count = static_cast<int>(records.size());
  std::int64_t begin_min = C::begin(records[0]), begin_max = begin_min, end_max = C::end(records[0]);
  std::int64_t op_min = C::op(records[0]), op_max = op_min;
  std::array<std::uint64_t, sizeof...(columns)> all{C::template get<columns>(m.before_first, records[0])...};
  for (std::size_t i = 1; i < records.size(); ++i) {
    ((all[columns] |= C::template get<columns>(records[i - 1], records[i])), ...);
    begin_min = std::min(begin_min, C::begin(records[i]));
    begin_max = std::max(begin_max, C::begin(records[i]));
    end_max = std::max(end_max, C::end(records[i]));
    op_min = std::min(op_min, C::op(records[i]));
    op_max = std::max(op_max, C::op(records[i]));
  }
  m.header.begin_min_ns = begin_min, m.header.begin_max_ns = begin_max, m.header.end_max_ns = end_max;
  m.header.op_min = op_min, m.header.op_max = op_max;
  for (std::size_t c = 0; c < all.size(); ++c) m.widths[c] = static_cast<std::uint8_t>(width_of(all[c]));
  return m;
}

template <typename Record, int... columns>
std::vector<std::uint8_t> packed(std::span<const Record> records, const Measured<Record>& m,
                                 std::integer_sequence<int, columns...>) {
  const std::size_t head = m.widths.size() + sizeof(std::int64_t);
  std::size_t bytes = head + kPadding;
  for (const std::uint8_t width : m.widths) bytes += width * records.size();
  std::vector<std::uint8_t> data(bytes);
  std::memcpy(data.data(), m.widths.data(), m.widths.size());
  const std::int64_t first = Columns<Record>::begin(records[0]);
  std::memcpy(data.data() + m.widths.size(), &first, sizeof first);
  std::uint8_t* out = data.data() + head;
  const auto pack_column = [&]<int column>(std::integral_constant<int, column>) {
    static constexpr auto packs = packs_of<Record, column>(std::make_integer_sequence<int, 9>());
    packs[m.widths[column]](m.before_first, records, out);
    out += m.widths[column] * records.size();
  };
  (pack_column(std::integral_constant<int, columns>()), ...);
  return data;
}

// The packed columns, each compressed where that makes it smaller.
template <typename Record>
std::vector<std::uint8_t> compressed(std::span<const std::uint8_t> packed, const Measured<Record>& m) {
  const std::size_t head = m.widths.size() + sizeof(std::int64_t);
  std::vector<std::size_t> sizes;
  for (const std::uint8_t width : m.widths) sizes.push_back(width * static_cast<std::size_t>(m.header.count));
  std::vector<std::uint8_t> data(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(head));
  append_compressed_columns(packed.subspan(head, packed.size() - head - kPadding), sizes, data);
  data.resize(data.size() + kPadding);
  return data;
}

template <typename Record>
EncodedChunk encode(std::span<const Record> records, ChunkCodec codec, int version) {
  SPSCOPE_CHECK(!records.empty() && records.size() <= kMaxChunkEvents && 1 <= version && version <= kRecordVersion);
  using C = Columns<Record>;
  constexpr auto columns = std::make_integer_sequence<int, C::kCount>();
  const Measured<Record> m = measure(records, columns);
  if (codec == ChunkCodec::kRaw || codec == ChunkCodec::kPackedZstd) version = 1;
  if (codec == ChunkCodec::kCoded && version == 1) codec = ChunkCodec::kPackedZstd;
  EncodedChunk chunk;
  chunk.header = m.header;
  chunk.header.codec = codec;
  if (codec == ChunkCodec::kRaw) {
    chunk.data.resize(records.size_bytes());
    std::memcpy(chunk.data.data(), records.data(), records.size_bytes());
  } else if (version == 1) {
    chunk.data = packed(records, m, columns);
    if (codec == ChunkCodec::kPackedZstd) chunk.data = compressed(chunk.data, m);
  } else if constexpr (C::kKind != RecordKind::kCounter) {
    chunk.data = encode_labelled(records, codec);
  }
  chunk.header.record_version = version;
  chunk.header.crc32c = crc32c(chunk.data);
  return chunk;
}

}  // namespace

std::string_view record_kind_name(RecordKind kind) {
  static constexpr std::string_view names[kNumRecordKinds] = {"span", "collective", "counter"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view chunk_codec_name(ChunkCodec codec) {
  static constexpr std::string_view names[kNumChunkCodecs] = {"raw", "packed", "packed zstd", "coded"};
  return names[static_cast<std::size_t>(codec)];
}

EncodedChunk encode_chunk(std::span<const SpanEvent> events, ChunkCodec codec, int version) {
  return encode(events, codec, version);
}
EncodedChunk encode_chunk(std::span<const CollectiveEvent> events, ChunkCodec codec, int version) {
  return encode(events, codec, version);
}
EncodedChunk encode_chunk(std::span<const CounterSample> samples, ChunkCodec codec) {
  return encode(samples, codec, 1);
}

}  // namespace spscope
