// Version 2 of the records of spans and collectives. A rank does the same ops in every repeat, so what an event says
// besides its times is one of few things: a label of the chunk, told once. Each event then is a number of a label,
// which mostly is the one after the number before, and times in as few bits as that label's times take.
//
//   codec 1  u16 records; u16 labels; u8 width of each label column; i64 first begin; head of each value column
//            (BitColumnHead); label columns, of one value a label, as codec 1 of version 1 packs them; value columns,
//            of one value an event, as bit_column.h packs them; 8 bytes of zero
//   codec 3  the same to the first begin; u32 size of the times; u32 stored size of each label column and the times,
//            less than its size where zstd compressed it; label columns; times, which are the value columns as
//            chunk_times.h tells them; 8 bytes of zero
//
//   label columns  op_id minus that of the label before (zigzag, -1 before the first); name; flags; and of collectives
//                  sequence minus that of the label before (zigzag, 0 before the first); bytes (zigzag); communicator;
//                  peer + 1
//   value columns  label: number minus the one before minus 1, modulo labels (the number before the first is the last
//                  one); gap; duration; and of collectives entry - begin (zigzag); end - transfer begin (zigzag);
//                  transfer end - end (zigzag)
//
// Labels are numbered in the order in which they come. There are no other codecs of it. This header is for chunk_codec.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/store/chunk/bit_column.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/chunk/chunk_times.h"

namespace spscope {

// The data of a chunk. REQUIRES: a packed codec.
std::vector<std::uint8_t> encode_labelled(std::span<const SpanEvent> events, ChunkCodec codec);
std::vector<std::uint8_t> encode_labelled(std::span<const CollectiveEvent> events, ChunkCodec codec);

// Reads a chunk whose header and checksum were looked at.
class LabelledColumns {
 public:
  // Throws Error (kStoreCorrupt). The data must outlive this.
  LabelledColumns(const ChunkHeader& header, std::span<const std::uint8_t> data);
  LabelledColumns(const LabelledColumns&) = delete;
  LabelledColumns& operator=(const LabelledColumns&) = delete;

  std::int64_t first_begin_ns() const { return first_begin_ns_; }
  // The numbers of a ChunkColumns::Column as version 1 has them.
  void unpack(int column, int first, std::span<std::uint64_t> out) const;
  void find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found) const;

 private:
  static constexpr std::size_t kMaxLabelColumns = 7, kMaxValueColumns = 6;
  void find_sections(ChunkCodec codec, std::span<const std::uint8_t> data, std::size_t at);
  std::uint64_t label_value(std::size_t column, std::size_t label) const;
  std::vector<std::uint64_t> label_sums(std::size_t column, std::uint64_t before_first) const;
  void set_labels(std::span<const std::uint64_t> steps);
  void read_packed();
  void read_coded();
  void unpack_values(std::size_t column, int first, std::span<std::uint64_t> out) const;
  void unpack_differences(std::span<const std::uint64_t> table, std::uint64_t before_first, int first,
                          std::span<std::uint64_t> out) const;
  void unpack_transfer_begin(int first, std::span<std::uint64_t> out) const;

  int count_ = 0;
  std::size_t num_label_columns_ = 0, num_value_columns_ = 0;
  std::int64_t first_begin_ns_ = 0;
  std::array<std::uint8_t, kMaxLabelColumns> widths_{};
  std::array<BitColumnHead, kMaxValueColumns> heads_{};
  std::array<std::span<const std::uint8_t>, kMaxLabelColumns + kMaxValueColumns> sections_{};  // in order
  ValueLabels labels_;
  std::vector<std::uint64_t> ops_, sequences_;  // by label
  std::array<BitColumn, kMaxValueColumns> values_;
  std::uint32_t times_bytes_ = 0;  // this and what follows is of codec 3
  TimeColumns times_;
  std::vector<std::uint8_t> own_;
};

}  // namespace spscope
