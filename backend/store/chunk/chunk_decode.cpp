// Unpacking. Sizes are compared with the bytes that are there before anything is made of them; then a block of values
// of each column is widened by a loop that is made for its width, and the records are put together from the blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/chunk_labelled.h"
#include "backend/store/chunk/zstd_column.h"

namespace spscope {

void chunk_columns::corrupt(std::string_view why) {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read a chunk of events: {}", why),
              "the file is damaged; copy it again from where it was made");
}

namespace {

using chunk_columns::Columns;
using chunk_columns::corrupt;

constexpr std::size_t kPadding = 8;
constexpr int kBlock = 256;  // values of a column at a time: all columns of a block stay in the nearest cache

template <int width>
void widen(const std::uint8_t* from, std::span<std::uint64_t> out) {
  if constexpr (width == 0) {
    std::fill(out.begin(), out.end(), 0);
  } else {
    constexpr std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * width);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint64_t x;
      std::memcpy(&x, from + i * width, sizeof x);
      out[i] = x & mask;
    }
  }
}

using Widen = void (*)(const std::uint8_t*, std::span<std::uint64_t>);
template <int... widths>
constexpr std::array<Widen, 9> widen_of(std::integer_sequence<int, widths...>) {
  return {&widen<widths>...};
}
constexpr auto kWiden = widen_of(std::make_integer_sequence<int, 9>());

void check_header(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  if (header.record_version < 1 || header.record_version > kRecordVersion)
    corrupt("the layout of its records is not known");
  if (header.count < 1 || header.count > kMaxChunkEvents)
    corrupt(fmt::format("it has {} events, not 1 to {}", header.count, kMaxChunkEvents));
  if (crc32c(data) != header.crc32c) corrupt("its checksum is wrong");
}

template <typename Record>
std::vector<Record> raw_records(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  if (data.size() != static_cast<std::size_t>(header.count) * sizeof(Record)) corrupt("it has another size");
  std::vector<Record> records(static_cast<std::size_t>(header.count));
  std::memcpy(static_cast<void*>(records.data()), data.data(), data.size());
  return records;
}

// Compares what a header promises with the records.
class Bounds {
 public:
  template <typename Record>
  void add(const Record& r) {
    using C = Columns<Record>;
    const std::int64_t begin = C::begin(r), end = C::end(r), op = C::op(r);
    begin_min_ = std::min(begin_min_, begin), begin_max_ = std::max(begin_max_, begin);
    end_max_ = std::max(end_max_, end);
    op_min_ = std::min(op_min_, op), op_max_ = std::max(op_max_, op);
    backwards_ |= end < begin;
  }
  void check(const ChunkHeader& header) const {
    if (backwards_) corrupt("an event ends before it begins");
    if (begin_min_ != header.begin_min_ns || begin_max_ != header.begin_max_ns || end_max_ != header.end_max_ns ||
        op_min_ != header.op_min || op_max_ != header.op_max)
      corrupt("its events do not lie where its row says");
  }

 private:
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t begin_min_ = Limits::max(), begin_max_ = Limits::min(), end_max_ = Limits::min();
  std::int64_t op_min_ = Limits::max(), op_max_ = Limits::min();
  bool backwards_ = false;
};

const SpanEvent& kept(const SpanEvent& e, const SpanEvent*) { return e; }
const SpanEvent& kept(const CollectiveEvent& e, const SpanEvent*) { return e.span; }
const CollectiveEvent& kept(const CollectiveEvent& e, const CollectiveEvent*) { return e; }
const CounterSample& kept(const CounterSample& e, const CounterSample*) { return e; }

// Appends records of type Record as what Kept keeps of them.
template <typename Record, typename Kept>
void decode_packed(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<Kept>& out) {
  using C = Columns<Record>;
  const ChunkColumns columns(header, data);
  const std::size_t old_size = out.size();
  out.resize(old_size + static_cast<std::size_t>(columns.count()));
  Kept* next = out.data() + old_size;
  std::array<std::array<std::uint64_t, kBlock>, static_cast<std::size_t>(C::kCount)> block;
  Record last = C::before_first(columns.first_begin_ns());
  Bounds bounds;
  for (int first = 0; first < columns.count(); first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(kBlock, columns.count() - first));
    for (int c = 0; c < C::kCount; ++c)
      columns.unpack(c, first, std::span(block[static_cast<std::size_t>(c)]).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      last = C::make(last, [&](int column) { return block[static_cast<std::size_t>(column)][i]; });
      bounds.add(last);
      *next++ = kept(last, static_cast<Kept*>(nullptr));
    }
  }
  bounds.check(header);
}

template <typename Record, typename Kept>
void decode_raw(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<Kept>& out) {
  check_header(header, data);
  Bounds bounds;
  for (const Record& record : raw_records<Record>(header, data)) {
    bounds.add(record);
    out.push_back(kept(record, static_cast<Kept*>(nullptr)));
  }
  bounds.check(header);
}

// `out` is as it was when this throws.
template <typename Record, typename Kept>
void decode(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<Kept>& out) {
  struct Restore {
    ~Restore() {
      if (!done) records.resize(size);
    }
    std::vector<Kept>& records;
    std::size_t size;
    bool done = false;
  } restore{out, out.size()};
  if (header.kind != Columns<Record>::kKind) corrupt("its records are of another kind");
  if (header.codec == ChunkCodec::kRaw && header.record_version == 1)
    decode_raw<Record>(header, data, out);
  else
    decode_packed<Record>(header, data, out);
  restore.done = true;
}

template <typename Record>
std::vector<std::uint8_t> packed_again(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  const std::vector<Record> records = raw_records<Record>(header, data);
  if constexpr (Columns<Record>::kKind == RecordKind::kCounter)
    return encode_chunk(std::span(records), ChunkCodec::kPacked).data;
  else
    return encode_chunk(std::span(records), ChunkCodec::kPacked, 1).data;
}

std::span<const std::uint8_t> max_widths(RecordKind kind) {
  switch (kind) {
    case RecordKind::kSpan:
      return Columns<SpanEvent>::kMaxWidth;
    case RecordKind::kCollective:
      return Columns<CollectiveEvent>::kMaxWidth;
    case RecordKind::kCounter:
      return Columns<CounterSample>::kMaxWidth;
  }
  corrupt("the kind of its records is not known");
}

}  // namespace

ChunkColumns::ChunkColumns(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  check_header(header, data);
  count_ = header.count;
  if (header.record_version == 2) {
    labelled_ = std::make_unique<LabelledColumns>(header, data);
    first_begin_ns_ = labelled_->first_begin_ns();
    return;
  }
  const std::span<const std::uint8_t> largest = max_widths(header.kind);
  if (header.codec == ChunkCodec::kRaw) {
    own_ = header.kind == RecordKind::kSpan         ? packed_again<SpanEvent>(header, data)
           : header.kind == RecordKind::kCollective ? packed_again<CollectiveEvent>(header, data)
                                                    : packed_again<CounterSample>(header, data);
    data = own_;
  }
  if (data.size() < largest.size() + sizeof first_begin_ns_ + kPadding) corrupt("it ends early");
  std::memcpy(widths_, data.data(), largest.size());
  for (std::size_t c = 0; c < largest.size(); ++c)
    if (widths_[c] > largest[c]) corrupt(fmt::format("a column is {} bytes wide", widths_[c]));
  std::memcpy(&first_begin_ns_, data.data() + largest.size(), sizeof first_begin_ns_);
  switch (header.codec) {
    case ChunkCodec::kRaw:
    case ChunkCodec::kPacked:
      open_packed(data, largest.size());
      return;
    case ChunkCodec::kPackedZstd:
      open_compressed(data, largest.size());
      return;
    case ChunkCodec::kCoded:
      break;
  }
  corrupt("its codec is not known");
}

ChunkColumns::~ChunkColumns() = default;
ChunkColumns::ChunkColumns(ChunkColumns&&) noexcept = default;
ChunkColumns& ChunkColumns::operator=(ChunkColumns&&) noexcept = default;

void ChunkColumns::open_packed(std::span<const std::uint8_t> data, std::size_t num_columns) {
  std::size_t at = num_columns + sizeof first_begin_ns_;
  std::size_t wanted = at + kPadding;
  const auto count = static_cast<std::size_t>(count_);
  for (std::size_t c = 0; c < num_columns; ++c) wanted += widths_[c] * count;
  if (data.size() != wanted) corrupt(fmt::format("it has {} of {} bytes", data.size(), wanted));
  for (std::size_t c = 0; c < num_columns; ++c) {
    columns_[c] = data.data() + at;
    at += widths_[c] * count;
  }
}

void ChunkColumns::open_compressed(std::span<const std::uint8_t> data, std::size_t num_columns) {
  std::array<std::size_t, kMaxColumns> sizes{};  // in all at most 12 columns of 8 bytes for 4,096 events
  for (std::size_t c = 0; c < num_columns; ++c) sizes[c] = widths_[c] * static_cast<std::size_t>(count_);
  own_ = read_compressed_columns(data.subspan(num_columns + sizeof first_begin_ns_),
                                 std::span(sizes).first(num_columns), kPadding);
  const std::uint8_t* at = own_.data();
  for (std::size_t c = 0; c < num_columns; ++c) {
    columns_[c] = at;
    at += sizes[c];
  }
}

void ChunkColumns::unpack(int column, int first, std::span<std::uint64_t> out) const {
  if (labelled_) return labelled_->unpack(column, first, out);
  const auto c = static_cast<std::size_t>(column);
  kWiden[widths_[c]](columns_[c] + static_cast<std::size_t>(first) * widths_[c], out);
}

std::uint64_t ChunkColumns::value(int column, int index) const {
  std::uint64_t value;
  unpack(column, index, {&value, 1});
  return value;
}

void ChunkColumns::find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found) const {
  if (labelled_) return labelled_->find_names(names, found);
  std::array<std::uint64_t, kBlock> block;
  for (int first = 0; first < count_; first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(kBlock, count_ - first));
    unpack(kName, first, std::span(block).first(n));
    for (std::size_t i = 0; i < n; ++i)
      if (std::ranges::find(names, block[i]) != names.end())
        found.push_back(static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i));
  }
}

void decode_spans(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<SpanEvent>& out) {
  if (header.kind == RecordKind::kCollective)
    decode<CollectiveEvent>(header, data, out);
  else
    decode<SpanEvent>(header, data, out);
}

void decode_collectives(const ChunkHeader& header, std::span<const std::uint8_t> data,
                        std::vector<CollectiveEvent>& out) {
  decode<CollectiveEvent>(header, data, out);
}

void decode_counters(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<CounterSample>& out) {
  decode<CounterSample>(header, data, out);
}

}  // namespace spscope
