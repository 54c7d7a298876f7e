// The columns of each kind of record as numbers: what chunk_codec packs. A number is computed from a record and the one
// before it; the first record of a chunk has a made-up one before it (see chunk_codec.h).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "backend/base/bytes.h"
#include "backend/store/chunk/chunk_codec.h"

namespace spscope::chunk_columns {

// Throws Error (kStoreCorrupt): a chunk cannot be read, for this reason.
[[noreturn]] void corrupt(std::string_view why);

constexpr std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }
constexpr std::int64_t number(std::uint64_t x) { return static_cast<std::int64_t>(x); }
constexpr std::uint64_t swap_bytes(std::uint64_t x) { return __builtin_bswap64(x); }
// a and b may lie further apart than 63 bits.
constexpr std::uint64_t difference(std::int64_t a, std::int64_t b) { return zigzag(bits(a) - bits(b)); }
constexpr std::int64_t sum(std::int64_t a, std::uint64_t difference) { return number(bits(a) + unzigzag(difference)); }
constexpr int width_of(std::uint64_t largest) { return (std::bit_width(largest) + 7) / 8; }

// Of each record type: the number of columns, the largest width of each, whether it is a time, a column's number of a
// record, the record of all numbers, the record that stands before the first, and the bounds.
template <typename Record>
struct Columns;

template <>
struct Columns<SpanEvent> {
  static constexpr RecordKind kKind = RecordKind::kSpan;
  static constexpr int kCount = 5;
  static constexpr std::uint8_t kMaxWidth[kCount] = {8, 8, 8, 4, 4};
  static constexpr bool kIsTime[kCount] = {true, true};

  static SpanEvent before_first(std::int64_t first_begin_ns) { return {.end_ns = first_begin_ns, .op_id = -1}; }
  static std::int64_t begin(const SpanEvent& e) { return e.begin_ns; }
  static std::int64_t end(const SpanEvent& e) { return e.end_ns; }
  static std::int64_t op(const SpanEvent& e) { return e.op_id; }

  template <int column>
  static std::uint64_t get(const SpanEvent& before, const SpanEvent& e) {
    if constexpr (column == ChunkColumns::kGap) return difference(e.begin_ns, before.end_ns);
    if constexpr (column == ChunkColumns::kDuration) return bits(e.end_ns) - bits(e.begin_ns);
    if constexpr (column == ChunkColumns::kOp) return difference(e.op_id, before.op_id);
    if constexpr (column == ChunkColumns::kName) return e.name;
    if constexpr (column == ChunkColumns::kFlags) return e.flags;
  }
  // x[column]
  template <typename Numbers>
  static SpanEvent make(const SpanEvent& before, const Numbers& x) {
    SpanEvent e;
    e.begin_ns = sum(before.end_ns, x(ChunkColumns::kGap));
    e.end_ns = number(bits(e.begin_ns) + x(ChunkColumns::kDuration));
    e.op_id = sum(before.op_id, x(ChunkColumns::kOp));
    e.name = static_cast<NameId>(x(ChunkColumns::kName));
    e.flags = static_cast<std::uint32_t>(x(ChunkColumns::kFlags));
    return e;
  }
};

template <>
struct Columns<CollectiveEvent> {
  using Spans = Columns<SpanEvent>;
  static constexpr RecordKind kKind = RecordKind::kCollective;
  static constexpr int kCount = kMaxChunkColumns;
  static constexpr std::uint8_t kMaxWidth[kCount] = {8, 8, 8, 4, 4, 8, 8, 8, 8, 8, 4, 4};
  static constexpr bool kIsTime[kCount] = {true, true, false, false, false, true, true, true};

  static CollectiveEvent before_first(std::int64_t first_begin_ns) {
    return {.span = Spans::before_first(first_begin_ns)};
  }
  static std::int64_t begin(const CollectiveEvent& e) { return e.span.begin_ns; }
  static std::int64_t end(const CollectiveEvent& e) { return e.span.end_ns; }
  static std::int64_t op(const CollectiveEvent& e) { return e.span.op_id; }

  template <int column>
  static std::uint64_t get(const CollectiveEvent& before, const CollectiveEvent& e) {
    if constexpr (column < Spans::kCount) return Spans::get<column>(before.span, e.span);
    if constexpr (column == ChunkColumns::kEntry) return difference(e.entry_ns, e.span.begin_ns);
    if constexpr (column == ChunkColumns::kTransferBegin) return difference(e.transfer_begin_ns, e.entry_ns);
    if constexpr (column == ChunkColumns::kTransferEnd) return difference(e.transfer_end_ns, e.span.end_ns);
    if constexpr (column == ChunkColumns::kSequence) return difference(e.sequence, before.sequence);
    if constexpr (column == ChunkColumns::kBytes) return difference(e.bytes, 0);
    if constexpr (column == ChunkColumns::kCommunicator) return e.communicator;
    if constexpr (column == ChunkColumns::kPeer) return static_cast<std::uint32_t>(e.peer) + 1u;
  }
  template <typename Numbers>
  static CollectiveEvent make(const CollectiveEvent& before, const Numbers& x) {
    CollectiveEvent e;
    e.span = Spans::make(before.span, x);
    e.entry_ns = sum(e.span.begin_ns, x(ChunkColumns::kEntry));
    e.transfer_begin_ns = sum(e.entry_ns, x(ChunkColumns::kTransferBegin));
    e.transfer_end_ns = sum(e.span.end_ns, x(ChunkColumns::kTransferEnd));
    e.sequence = sum(before.sequence, x(ChunkColumns::kSequence));
    e.bytes = sum(0, x(ChunkColumns::kBytes));
    e.communicator = static_cast<CommunicatorId>(x(ChunkColumns::kCommunicator));
    e.peer = static_cast<std::int32_t>(static_cast<std::uint32_t>(x(ChunkColumns::kPeer)) - 1u);
    return e;
  }
};

template <>
struct Columns<WorkEvent> {
  using Spans = Columns<SpanEvent>;
  static constexpr RecordKind kKind = RecordKind::kWork;
  static constexpr int kCount = 8;
  static constexpr std::uint8_t kMaxWidth[kCount] = {8, 8, 8, 4, 4, 8, 4, 4};
  static constexpr bool kIsTime[kCount] = {true, true};

  static WorkEvent before_first(std::int64_t first_begin_ns) { return {.span = Spans::before_first(first_begin_ns)}; }
  static std::int64_t begin(const WorkEvent& e) { return e.span.begin_ns; }
  static std::int64_t end(const WorkEvent& e) { return e.span.end_ns; }
  static std::int64_t op(const WorkEvent& e) { return e.span.op_id; }

  template <int column>
  static std::uint64_t get(const WorkEvent& before, const WorkEvent& e) {
    if constexpr (column < Spans::kCount) return Spans::get<column>(before.span, e.span);
    if constexpr (column == ChunkColumns::kWorkBytes) return difference(e.bytes, 0);
    if constexpr (column == ChunkColumns::kCorrelation)  // wraps at 32 bits, so that it never takes more
      return difference(static_cast<std::int32_t>(e.correlation - before.correlation), 0);
    if constexpr (column == ChunkColumns::kDetail) return e.detail;
  }
  template <typename Numbers>
  static WorkEvent make(const WorkEvent& before, const Numbers& x) {
    WorkEvent e;
    e.span = Spans::make(before.span, x);
    e.bytes = sum(0, x(ChunkColumns::kWorkBytes));
    e.correlation = before.correlation + static_cast<std::uint32_t>(unzigzag(x(ChunkColumns::kCorrelation)));
    e.detail = static_cast<WorkDetailId>(x(ChunkColumns::kDetail));
    return e;
  }
};

template <>
struct Columns<CounterSample> {
  static constexpr RecordKind kKind = RecordKind::kCounter;
  static constexpr int kCount = 2;
  static constexpr std::uint8_t kMaxWidth[kCount] = {8, 8};
  static constexpr bool kIsTime[kCount] = {true, false};

  static CounterSample before_first(std::int64_t first_begin_ns) { return {.time_ns = first_begin_ns}; }
  static std::int64_t begin(const CounterSample& e) { return e.time_ns; }
  static std::int64_t end(const CounterSample& e) { return e.time_ns; }
  static std::int64_t op(const CounterSample&) { return -1; }

  // The first byte of a double is its sign and exponent: last, small whole numbers and repeated ones become small.
  template <int column>
  static std::uint64_t get(const CounterSample& before, const CounterSample& e) {
    if constexpr (column == ChunkColumns::kTime) return difference(e.time_ns, before.time_ns);
    if constexpr (column == ChunkColumns::kValue)
      return swap_bytes(std::bit_cast<std::uint64_t>(e.value) ^ std::bit_cast<std::uint64_t>(before.value));
  }
  template <typename Numbers>
  static CounterSample make(const CounterSample& before, const Numbers& x) {
    CounterSample e;
    e.time_ns = sum(before.time_ns, x(ChunkColumns::kTime));
    e.value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(before.value) ^ swap_bytes(x(ChunkColumns::kValue)));
    return e;
  }
};

}  // namespace spscope::chunk_columns
