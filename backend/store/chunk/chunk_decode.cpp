// Unpacking. Sizes are compared with the bytes that are there before anything is made of them; then the planes of a
// block of each column are put together, and the records from the blocks.
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_columns.h"

namespace spscope {

void chunk_columns::corrupt(std::string_view why) {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read a chunk of events: {}", why),
              "the file is damaged; copy it again from where it was made");
}

namespace {

using chunk_columns::Columns;
using chunk_columns::corrupt;

constexpr int kBlock = 256;  // values of a column at a time: all columns of a block stay in the nearest cache

constexpr std::size_t kMaxWidth = 8;  // bytes of a column

// Puts together the numbers of which planes[p] holds byte p.
template <std::size_t width>
void join(const std::uint8_t* const* planes, std::span<std::uint64_t> numbers) {
  std::array<const std::uint8_t*, width> bytes;
  std::copy_n(planes, width, bytes.begin());
  std::uint64_t* __restrict const out = numbers.data();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint64_t x = 0;
    for (std::size_t p = 0; p < width; ++p) x |= std::uint64_t{bytes[p][i]} << 8 * p;
    out[i] = x;
  }
}

using Join = void (*)(const std::uint8_t* const*, std::span<std::uint64_t>);
template <std::size_t... widths>
constexpr std::array<Join, sizeof...(widths)> joins_of(std::index_sequence<widths...>) {
  return {&join<widths>...};
}

void check_header(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  if (header.codec != ChunkCodec::kPlanes) corrupt("the layout of its records is not known");
  if (header.count < 1 || header.count > kMaxChunkEvents)
    corrupt(fmt::format("it has {} events, not 1 to {}", header.count, kMaxChunkEvents));
  if (crc32c(data) != header.crc32c) corrupt("its checksum is wrong");
}

// Compares what a header promises with the records.
class RecordBounds {
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
const SpanEvent& kept(const WorkEvent& e, const SpanEvent*) { return e.span; }
const WorkEvent& kept(const WorkEvent& e, const WorkEvent*) { return e; }
const CounterSample& kept(const CounterSample& e, const CounterSample*) { return e; }

// Appends records of type Record as what Kept keeps of them.
template <typename Record, typename Kept>
void decode_packed(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<Kept>& out) {
  using C = Columns<Record>;
  ChunkColumns columns(header, data);
  const std::size_t old_size = out.size();
  out.resize(old_size + static_cast<std::size_t>(columns.count()));
  Kept* next = out.data() + old_size;
  std::array<std::array<std::uint64_t, kBlock>, static_cast<std::size_t>(C::kCount)> block;
  Record last = C::before_first(columns.first_begin_ns());
  RecordBounds bounds;
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
  decode_packed<Record>(header, data, out);
  restore.done = true;
}

// Each thread that decompresses has one, since making one takes ten times as long as decompressing a plane.
ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> own(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  SPSCOPE_CHECK(own != nullptr);
  return own.get();
}

std::span<const std::uint8_t> max_widths(RecordKind kind) {
  switch (kind) {
    case RecordKind::kSpan:
      return Columns<SpanEvent>::kMaxWidth;
    case RecordKind::kCollective:
      return Columns<CollectiveEvent>::kMaxWidth;
    case RecordKind::kCounter:
      return Columns<CounterSample>::kMaxWidth;
    case RecordKind::kWork:
      return Columns<WorkEvent>::kMaxWidth;
  }
  corrupt("the kind of its records is not known");
}

}  // namespace

ChunkColumns::ChunkColumns(const ChunkHeader& header, std::span<const std::uint8_t> data) {
  check_header(header, data);
  count_ = header.count;
  const auto count = static_cast<std::size_t>(count_);
  const std::span<const std::uint8_t> largest = max_widths(header.kind);
  std::size_t at = largest.size() + sizeof first_begin_ns_;
  if (data.size() < at) corrupt("it ends early");
  std::memcpy(&first_begin_ns_, data.data() + largest.size(), sizeof first_begin_ns_);
  std::size_t num_planes = 0;
  for (std::size_t c = 0; c < largest.size(); ++c) {
    if (data[c] > largest[c]) corrupt(fmt::format("a column is {} bytes wide", data[c]));
    first_plane_[c] = num_planes;
    num_planes += data[c];
  }
  for (std::size_t c = largest.size(); c <= kMaxChunkColumns; ++c) first_plane_[c] = num_planes;
  if (data.size() - at < num_planes * sizeof(std::uint16_t)) corrupt("it ends early");
  planes_.resize(num_planes);
  for (Plane& plane : planes_) {
    std::uint16_t stored;
    std::memcpy(&stored, data.data() + at, sizeof stored);
    at += sizeof stored;
    if (stored > count) corrupt("a column is larger than its values");
    plane.stored = stored;
  }
  for (Plane& plane : planes_) {
    if (data.size() - at < plane.stored) corrupt("it ends early");
    plane.bytes = data.data() + at;
    at += plane.stored;
  }
  if (data.size() != at) corrupt(fmt::format("it has {} bytes, not {}", data.size(), at));
}

const std::uint8_t* ChunkColumns::bytes_of(Plane& plane) const {
  const auto count = static_cast<std::size_t>(count_);
  if (plane.stored == count) return plane.bytes;
  if (plane.unpacked == nullptr) {
    auto unpacked = std::make_unique_for_overwrite<std::uint8_t[]>(count);
    if (ZSTD_decompressDCtx(decompressor(), unpacked.get(), count, plane.bytes, plane.stored) != count)
      corrupt("a column cannot be decompressed");
    plane.unpacked = std::move(unpacked);
  }
  return plane.unpacked.get();
}

void ChunkColumns::unpack(int column, int first, std::span<std::uint64_t> out) {
  const std::size_t begin = first_plane_[column], width = first_plane_[column + 1] - begin;
  std::array<const std::uint8_t*, kMaxWidth> planes{};
  for (std::size_t p = 0; p < width; ++p) planes[p] = bytes_of(planes_[begin + p]) + first;
  static constexpr auto joins = joins_of(std::make_index_sequence<kMaxWidth + 1>());
  joins[width](planes.data(), out);
}

std::uint64_t ChunkColumns::value(int column, int index) {
  std::uint64_t value;
  unpack(column, index, {&value, 1});
  return value;
}

// Compares plane by plane, without putting the numbers together.
void ChunkColumns::find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found) {
  const std::size_t begin = first_plane_[kName], end = first_plane_[kName + 1];
  const auto count = static_cast<std::size_t>(count_);
  std::array<std::uint8_t, kMaxChunkEvents> has{}, same;  // 1: the event has one of the names; has this one
  for (const NameId name : names) {
    if (static_cast<std::size_t>(chunk_columns::width_of(name)) > end - begin) continue;
    std::fill_n(same.begin(), count, std::uint8_t{1});
    for (std::size_t p = begin; p < end; ++p) {
      const std::uint8_t* const bytes = bytes_of(planes_[p]);
      const auto wanted = static_cast<std::uint8_t>(name >> 8 * (p - begin));
      for (std::size_t i = 0; i < count; ++i) same[i] &= static_cast<std::uint8_t>(bytes[i] == wanted);
    }
    for (std::size_t i = 0; i < count; ++i) has[i] |= same[i];
  }
  for (std::size_t first = 0; first < count; first += sizeof(std::uint64_t)) {
    std::uint64_t eight;
    std::memcpy(&eight, has.data() + first, sizeof eight);
    if (eight == 0) continue;
    for (std::size_t i = first; i < first + sizeof eight; ++i)
      if (has[i] != 0) found.push_back(static_cast<std::uint32_t>(i));
  }
}

void decode_spans(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<SpanEvent>& out) {
  if (header.kind == RecordKind::kCollective)
    decode<CollectiveEvent>(header, data, out);
  else if (header.kind == RecordKind::kWork)
    decode<WorkEvent>(header, data, out);
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

void decode_work(const ChunkHeader& header, std::span<const std::uint8_t> data, std::vector<WorkEvent>& out) {
  decode<WorkEvent>(header, data, out);
}

}  // namespace spscope
