// Packing of version 2 (chunk_labelled.h).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "backend/base/check.h"
#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/chunk_labelled.h"
#include "backend/store/chunk/chunk_times.h"
#include "backend/store/chunk/zstd_column.h"

namespace spscope {

namespace {

using chunk_columns::Columns;
using chunk_columns::difference;
using chunk_columns::width_of;
using Column = ChunkColumns::Column;

constexpr std::size_t kPadding = 8;

bool same_label(const SpanEvent& a, const SpanEvent& b) {
  return a.op_id == b.op_id && a.name == b.name && a.flags == b.flags;
}
bool same_label(const CollectiveEvent& a, const CollectiveEvent& b) {
  return same_label(a.span, b.span) && a.sequence == b.sequence && a.bytes == b.bytes &&
         a.communicator == b.communicator && a.peer == b.peer;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t x) {
  hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}
std::uint64_t hash_of(const SpanEvent& e) {
  return mixed(mixed(0, static_cast<std::uint64_t>(e.op_id)), std::uint64_t{e.name} << 32 | e.flags);
}
std::uint64_t hash_of(const CollectiveEvent& e) {
  const std::uint64_t hash =
      mixed(mixed(hash_of(e.span), static_cast<std::uint64_t>(e.sequence)), static_cast<std::uint64_t>(e.bytes));
  return mixed(hash, std::uint64_t{e.communicator} << 32 | static_cast<std::uint32_t>(e.peer));
}

// Gives labels in the order in which they come. What followed a label the last time is tried first.
template <typename Record>
class Labeller {
 public:
  explicit Labeller(std::span<const Record> records)
      : records_(records), slots_(std::bit_ceil(2 * records.size()), kNone), mask_(slots_.size() - 1) {
    labels.of.resize(records.size());
    std::uint16_t last = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::uint16_t label = i > 0 ? next_[last] : kNone;
      if (label == kNone || !same_label(records_[firsts[label]], records_[i])) label = find(i);
      if (i > 0) next_[last] = label;
      labels.of[i] = last = label;
    }
    labels.num_labels = static_cast<int>(firsts.size());
  }

  ValueLabels labels;
  std::vector<std::uint16_t> firsts;  // by label: the first record that has it

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  static_assert(kMaxChunkEvents < kNone);

  std::uint16_t find(std::size_t i) {
    for (std::size_t at = hash_of(records_[i]) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == kNone) {
        slots_[at] = static_cast<std::uint16_t>(firsts.size());
        firsts.push_back(static_cast<std::uint16_t>(i));
        next_.push_back(kNone);
        return slots_[at];
      }
      if (same_label(records_[firsts[slots_[at]]], records_[i])) return slots_[at];
    }
  }

  std::span<const Record> records_;
  std::vector<std::uint16_t> slots_, next_;
  std::size_t mask_;
};

// Columns one after another, and the size of each.
struct Sections {
  std::vector<std::uint8_t> bytes;
  std::vector<std::size_t> sizes;
};

template <typename Record, int... columns>
std::vector<std::uint8_t> add_label_columns(std::span<const Record> records, std::span<const std::uint16_t> firsts,
                                            Sections& sections, std::integer_sequence<int, columns...>) {
  using C = Columns<Record>;
  const Record before_first = C::before_first(C::begin(records[0]));
  std::vector<std::uint8_t> widths;
  std::vector<std::uint64_t> values(firsts.size());
  const auto add = [&]<int column>(std::integral_constant<int, column>) {
    std::uint64_t all = 0;
    for (std::size_t l = 0; l < firsts.size(); ++l) {
      const Record& before = l == 0 ? before_first : records[firsts[l - 1]];
      all |= values[l] = C::template get<column>(before, records[firsts[l]]);
    }
    const auto width = static_cast<std::size_t>(width_of(all));
    std::size_t at = sections.bytes.size();
    sections.bytes.resize(at + width * firsts.size());
    for (const std::uint64_t x : values) {
      std::memcpy(sections.bytes.data() + at, &x, width);
      at += width;
    }
    sections.sizes.push_back(width * firsts.size());
    widths.push_back(static_cast<std::uint8_t>(width));
  };
  (add(std::integral_constant<int, columns>()), ...);
  return widths;
}

std::vector<std::uint8_t> add_label_columns(std::span<const SpanEvent> events, std::span<const std::uint16_t> firsts,
                                            Sections& sections) {
  return add_label_columns(events, firsts, sections,
                           std::integer_sequence<int, Column::kOp, Column::kName, Column::kFlags>());
}
std::vector<std::uint8_t> add_label_columns(std::span<const CollectiveEvent> events,
                                            std::span<const std::uint16_t> firsts, Sections& sections) {
  return add_label_columns(events, firsts, sections,
                           std::integer_sequence<int, Column::kOp, Column::kName, Column::kFlags, Column::kSequence,
                                                 Column::kBytes, Column::kCommunicator, Column::kPeer>());
}

// Value columns, packed into sections or, with `kept`, as they are.
class ValueColumns {
 public:
  ValueColumns(const ValueLabels& labels, Sections& sections, TimeColumns* kept)
      : labels_(labels), sections_(sections), kept_(kept), values_(labels.of.size()) {}

  // value(i) of each event.
  template <typename Value>
  void add(Value&& value) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = value(i);
    append_column(&labels_);
  }
  void add_labels() {
    const auto num_labels = static_cast<unsigned>(labels_.num_labels);
    unsigned last = num_labels - 1;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const unsigned label = labels_.of[i], expected = last + 1 == num_labels ? 0 : last + 1;
      values_[i] = label >= expected ? label - expected : label + num_labels - expected;
      last = label;
    }
    append_column(nullptr);
  }

  std::vector<BitColumnHead> heads;

 private:
  void append_column(const ValueLabels* labels) {
    if (kept_ != nullptr) return kept_->push_back(values_);
    heads.push_back(append_bit_column(values_, labels, sections_.bytes));
    sections_.sizes.push_back(heads.back().bytes);
  }

  const ValueLabels& labels_;
  Sections& sections_;
  TimeColumns* kept_;
  std::vector<std::uint64_t> values_;
};

template <typename Record, int column>
void add_column(std::span<const Record> records, ValueColumns& values) {
  using C = Columns<Record>;
  const Record before_first = C::before_first(C::begin(records[0]));
  values.add(
      [&](std::size_t i) { return C::template get<column>(i == 0 ? before_first : records[i - 1], records[i]); });
}

template <typename Record>
void add_times(std::span<const Record> records, ValueColumns& values) {
  add_column<Record, Column::kGap>(records, values);
  add_column<Record, Column::kDuration>(records, values);
  if constexpr (std::is_same_v<Record, CollectiveEvent>) {
    add_column<Record, Column::kEntry>(records, values);
    values.add([&](std::size_t i) { return difference(records[i].span.end_ns, records[i].transfer_begin_ns); });
    add_column<Record, Column::kTransferEnd>(records, values);
  }
}

template <typename T>
void append(std::vector<std::uint8_t>& out, const T* values, std::size_t count) {
  const std::size_t size = out.size();
  out.resize(size + count * sizeof(T));
  if (count > 0) std::memcpy(out.data() + size, values, count * sizeof(T));
}

template <typename Record>
std::vector<std::uint8_t> encode(std::span<const Record> records, ChunkCodec codec) {
  SPSCOPE_CHECK(codec == ChunkCodec::kPacked || codec == ChunkCodec::kCoded);
  const Labeller<Record> labelled(records);
  Sections sections;
  sections.bytes.reserve(records.size() * sizeof(Record) / 8);
  const std::vector<std::uint8_t> widths = add_label_columns(records, labelled.firsts, sections);
  TimeColumns times;
  ValueColumns values(labelled.labels, sections, codec == ChunkCodec::kCoded ? &times : nullptr);
  values.add_labels();
  add_times(records, values);

  std::vector<std::uint8_t> data;
  data.reserve(sections.bytes.size() + 256);
  const std::uint16_t counts[] = {static_cast<std::uint16_t>(records.size()),
                                  static_cast<std::uint16_t>(labelled.firsts.size())};
  const std::int64_t first_begin_ns = Columns<Record>::begin(records[0]);
  append(data, counts, 2);
  append(data, widths.data(), widths.size());
  append(data, &first_begin_ns, 1);
  if (codec == ChunkCodec::kPacked) {
    append(data, values.heads.data(), values.heads.size());
    append(data, sections.bytes.data(), sections.bytes.size());
  } else {
    const std::size_t before = sections.bytes.size();
    append_times(times, labelled.firsts.size(), sections.bytes);
    sections.sizes.push_back(sections.bytes.size() - before);
    const auto times_bytes = static_cast<std::uint32_t>(sections.sizes.back());
    append(data, &times_bytes, 1);
    append_compressed_columns(sections.bytes, sections.sizes, data);
  }
  data.resize(data.size() + kPadding);
  return data;
}

}  // namespace

std::vector<std::uint8_t> encode_labelled(std::span<const SpanEvent> events, ChunkCodec codec) {
  return encode(events, codec);
}
std::vector<std::uint8_t> encode_labelled(std::span<const CollectiveEvent> events, ChunkCodec codec) {
  return encode(events, codec);
}

}  // namespace spscope
