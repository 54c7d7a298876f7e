// Chunks unpacked column by column: the other half of event_source.h.
#include <algorithm>
#include <array>

#include "backend/base/bytes.h"
#include "backend/store/event_table/event_source.h"

namespace spscope {

namespace {

using Column = EventColumn;
constexpr int kBlock = 256;  // events at a time
using Unpacked = std::array<std::uint64_t, kMaxChunkEvents>;

std::int64_t as_signed(std::uint64_t x) { return static_cast<std::int64_t>(x); }
std::uint64_t as_unsigned(std::int64_t x) { return static_cast<std::uint64_t>(x); }

constexpr std::uint32_t kTimes = column_bit(Column::kBeginNs) | column_bit(Column::kEndNs) |
                                 column_bit(Column::kEntryNs) | column_bit(Column::kTransferBeginNs) |
                                 column_bit(Column::kTransferEndNs);
constexpr std::uint32_t kFlags = column_bit(Column::kEndNs) | column_bit(Column::kCategory) |
                                 column_bit(Column::kDepth) | column_bit(Column::kUnfinished) |
                                 column_bit(Column::kClamped) | column_bit(Column::kModelled) |
                                 column_bit(Column::kCategoryId);
constexpr std::uint32_t kNames = column_bit(Column::kName) | column_bit(Column::kNameId);

class Unpacker {
 public:
  Unpacker(ChunkColumns& columns, std::uint32_t used, EventValues& values)
      : columns_(columns), count_(columns.count()), used_(used), values_(values) {}

  void unpack() {
    if (used_ & kTimes) times();
    if (uses(Column::kOpId)) differences(ChunkColumns::kOp, Column::kOpId, std::uint64_t{0} - 1);
    if (used_ & kNames) words(ChunkColumns::kName, values_.names);
    if (used_ & kFlags) words(ChunkColumns::kFlags, values_.flags);
    if (values_.kind == RecordKind::kCollective) transfers();
    if (values_.kind == RecordKind::kWork) work();
  }

 private:
  bool uses(Column column) const { return (used_ & column_bit(column)) != 0; }
  const Unpacked& read(int column) {
    columns_.unpack(column, 0, {scratch_.data(), static_cast<std::size_t>(count_)});
    return scratch_;
  }
  std::vector<std::int64_t>& sized(Column column) {
    values_.of(column).resize(static_cast<std::size_t>(count_));
    return values_.of(column);
  }

  // Block by block, so that what is unpacked stays in the nearest cache.
  void times() {
    std::vector<std::int64_t>&begin = sized(Column::kBeginNs), &end = sized(Column::kEndNs);
    std::array<std::uint64_t, kBlock> gaps, durations;
    std::uint64_t last_end = as_unsigned(columns_.first_begin_ns());
    for (int first = 0; first < count_; first += kBlock) {
      const auto count = static_cast<std::size_t>(std::min(kBlock, count_ - first));
      columns_.unpack(ChunkColumns::kGap, first, std::span(gaps).first(count));
      columns_.unpack(ChunkColumns::kDuration, first, std::span(durations).first(count));
      std::int64_t* const begins = begin.data() + first;
      std::int64_t* const ends = end.data() + first;
      for (std::size_t i = 0; i < count; ++i) {
        begins[i] = as_signed(last_end + unzigzag(gaps[i]));
        last_end = as_unsigned(begins[i]) + durations[i];
        ends[i] = as_signed(last_end);
      }
    }
  }
  void differences(int column, Column to, std::uint64_t before) {
    std::vector<std::int64_t>& out = sized(to);
    const Unpacked& in = read(column);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_signed(before += unzigzag(in[i]));
  }
  void words(int column, std::vector<std::uint32_t>& out) {
    out.resize(static_cast<std::size_t>(count_));
    const Unpacked& in = read(column);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(in[i]);
  }
  // Zigzag numbers on top of those of another column.
  void offsets(int column, Column to, Column from) {
    std::vector<std::int64_t>& out = sized(to);
    const std::vector<std::int64_t>& base = values_.of(from);
    const Unpacked& in = read(column);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_signed(as_unsigned(base[i]) + unzigzag(in[i]));
  }
  void plain(int column, Column to, bool zigzag, std::uint64_t minus) {
    std::vector<std::int64_t>& out = sized(to);
    const Unpacked& in = read(column);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_signed((zigzag ? unzigzag(in[i]) : in[i]) - minus);
  }
  void transfers() {
    if (uses(Column::kEntryNs) || uses(Column::kTransferBeginNs))
      offsets(ChunkColumns::kEntry, Column::kEntryNs, Column::kBeginNs);
    if (uses(Column::kTransferBeginNs))
      offsets(ChunkColumns::kTransferBegin, Column::kTransferBeginNs, Column::kEntryNs);
    if (uses(Column::kTransferEndNs)) offsets(ChunkColumns::kTransferEnd, Column::kTransferEndNs, Column::kEndNs);
    if (uses(Column::kSequence)) differences(ChunkColumns::kSequence, Column::kSequence, 0);
    if (uses(Column::kBytes)) plain(ChunkColumns::kBytes, Column::kBytes, true, 0);
    if (uses(Column::kCommunicatorId)) plain(ChunkColumns::kCommunicator, Column::kCommunicatorId, false, 0);
    if (uses(Column::kPeer)) plain(ChunkColumns::kPeer, Column::kPeer, false, 1);
  }
  void work() {
    if (uses(Column::kBytes)) plain(ChunkColumns::kWorkBytes, Column::kBytes, true, 0);
    if (uses(Column::kCorrelationId)) correlations();
    if (uses(Column::kWorkDetailId)) plain(ChunkColumns::kDetail, Column::kWorkDetailId, false, 0);
  }
  // Differences that wrap at 32 bits.
  void correlations() {
    std::vector<std::int64_t>& out = sized(Column::kCorrelationId);
    const Unpacked& in = read(ChunkColumns::kCorrelation);
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = last += static_cast<std::uint32_t>(unzigzag(in[i]));
  }

  ChunkColumns& columns_;
  int count_;
  std::uint32_t used_;
  EventValues& values_;
  Unpacked scratch_;
};

}  // namespace

ChunkUnpacker::ChunkUnpacker(const ChunkHeader& header, std::span<const std::uint8_t> data)
    : columns_(header, data), kind_(header.kind) {}

void ChunkUnpacker::unpack(std::uint32_t used, EventValues& values) {
  values.kind = kind_;
  Unpacker(columns_, used, values).unpack();
}

}  // namespace spscope
