// Unpacking of version 2 (chunk_labelled.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/store/chunk/chunk_columns.h"
#include "backend/store/chunk/chunk_labelled.h"
#include "backend/store/chunk/zstd_column.h"

namespace spscope {

namespace {

using chunk_columns::bits;
using chunk_columns::corrupt;
using chunk_columns::unzigzag;
using chunk_columns::zigzag;
using Column = ChunkColumns::Column;

constexpr std::size_t kPadding = 8;
constexpr std::uint8_t kMaxLabelWidth[] = {8, 4, 4, 8, 8, 4, 4};
enum LabelColumn { kOpOf, kNameOf, kFlagsOf, kSequenceOf, kBytesOf, kCommunicatorOf, kPeerOf };
enum ValueColumn { kLabel, kGapOf, kDurationOf, kEntryOf, kMoveOf, kTransferEndOf };
constexpr std::uint64_t kBeforeFirstOp = ~std::uint64_t{0}, kBeforeFirstSequence = 0;

}  // namespace

LabelledColumns::LabelledColumns(const ChunkHeader& header, std::span<const std::uint8_t> data) : count_(header.count) {
  const bool collective = header.kind == RecordKind::kCollective;
  if ((!collective && header.kind != RecordKind::kSpan) ||
      (header.codec != ChunkCodec::kPacked && header.codec != ChunkCodec::kCoded))
    corrupt("its records have no such layout");
  num_label_columns_ = collective ? 7 : 3;
  num_value_columns_ = collective ? 6 : 3;
  std::uint16_t num_records = 0, num_labels = 0;
  const bool coded = header.codec == ChunkCodec::kCoded;
  const std::size_t heads_bytes = coded ? sizeof times_bytes_ : num_value_columns_ * sizeof(BitColumnHead);
  if (data.size() <
      sizeof num_records + sizeof num_labels + num_label_columns_ + sizeof first_begin_ns_ + heads_bytes + kPadding)
    corrupt("it ends early");
  const std::uint8_t* from = data.data();
  const auto take = [&](void* to, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    from += bytes;
  };
  take(&num_records, sizeof num_records);
  take(&num_labels, sizeof num_labels);
  take(widths_.data(), num_label_columns_);
  take(&first_begin_ns_, sizeof first_begin_ns_);
  take(coded ? static_cast<void*>(&times_bytes_) : heads_.data(), heads_bytes);
  if (num_records != count_) corrupt(fmt::format("it has {} events, and its row says {}", num_records, count_));
  if (num_labels < 1 || num_labels > count_) corrupt(fmt::format("it has {} labels", num_labels));
  labels_.num_labels = num_labels;
  find_sections(header.codec, data, static_cast<std::size_t>(from - data.data()));
  ops_ = label_sums(kOpOf, kBeforeFirstOp);
  if (collective) sequences_ = label_sums(kSequenceOf, kBeforeFirstSequence);
  if (coded)
    read_coded();
  else
    read_packed();
}

// All sizes are bounded before anything is made of them: at most 8 bytes a label, and so many an event.
void LabelledColumns::find_sections(ChunkCodec codec, std::span<const std::uint8_t> data, std::size_t at) {
  const auto num_labels = static_cast<std::size_t>(labels_.num_labels), count = static_cast<std::size_t>(count_);
  std::array<std::size_t, kMaxLabelColumns + kMaxValueColumns> all_sizes{};
  const bool coded = codec == ChunkCodec::kCoded;
  const std::size_t num_value_sections = coded ? 1 : num_value_columns_;
  const auto sizes = std::span(all_sizes).first(num_label_columns_ + num_value_sections);
  std::size_t wanted = at + kPadding;
  for (std::size_t c = 0; c < num_label_columns_; ++c) {
    if (widths_[c] > kMaxLabelWidth[c]) corrupt(fmt::format("a column is {} bytes wide", widths_[c]));
    wanted += sizes[c] = widths_[c] * num_labels;
  }
  for (std::size_t c = 0; c < num_value_sections; ++c) {
    const std::size_t bytes = coded ? times_bytes_ : heads_[c].bytes;
    if (bytes > (coded ? max_times_bytes(count) : max_bit_column_bytes(count))) corrupt("a column is too large");
    wanted += sizes[num_label_columns_ + c] = bytes;
  }
  const std::uint8_t* from = data.data() + at;
  if (coded) {
    own_ = read_compressed_columns(data.subspan(at), sizes, kPadding);
    from = own_.data();
  } else if (data.size() != wanted) {
    corrupt(fmt::format("it has {} of {} bytes", data.size(), wanted));
  }
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    sections_[c] = {from, sizes[c]};
    from += sizes[c];
  }
}

std::uint64_t LabelledColumns::label_value(std::size_t column, std::size_t label) const {
  const std::size_t width = widths_[column];
  std::uint64_t value;  // eight bytes may be read wherever a value begins
  std::memcpy(&value, sections_[column].data() + label * width, sizeof value);
  return width == 0 ? 0 : value & ~std::uint64_t{0} >> (64 - 8 * width);
}

// Of a column of differences.
std::vector<std::uint64_t> LabelledColumns::label_sums(std::size_t column, std::uint64_t before_first) const {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(labels_.num_labels));
  for (std::size_t l = 0; l < sums.size(); ++l) sums[l] = before_first += unzigzag(label_value(column, l));
  return sums;
}

void LabelledColumns::set_labels(std::span<const std::uint64_t> steps) {
  const auto num_labels = static_cast<std::uint64_t>(labels_.num_labels);
  if (std::ranges::any_of(steps, [&](std::uint64_t step) { return step >= num_labels; }))
    corrupt("an event has a label that there is not");
  std::uint64_t last = num_labels - 1;
  labels_.of.resize(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    last += steps[i] + 1;
    if (last >= num_labels) last -= num_labels;
    labels_.of[i] = static_cast<std::uint16_t>(last);
  }
}

void LabelledColumns::read_coded() {
  times_ = read_times(sections_[num_label_columns_], num_value_columns_, static_cast<std::size_t>(count_),
                      static_cast<std::uint64_t>(labels_.num_labels));
  set_labels(times_[kLabel]);
}

void LabelledColumns::read_packed() {
  const auto open = [&](std::size_t c, const ValueLabels* labels) {
    if (!values_[c].open(heads_[c], sections_[num_label_columns_ + c], count_, labels))
      corrupt("a column is not as long as its values");
  };
  open(kLabel, nullptr);
  const auto num_labels = static_cast<std::size_t>(labels_.num_labels), count = static_cast<std::size_t>(count_);
  if (values_[kLabel].all_zero()) {  // whole repeats, and nothing else
    labels_.of.resize(count);
    for (std::size_t i = 0; i < count; i += num_labels)
      for (std::size_t l = 0; l < std::min(num_labels, count - i); ++l)
        labels_.of[i + l] = static_cast<std::uint16_t>(l);
  } else {
    std::vector<std::uint64_t> steps(count);
    values_[kLabel].unpack(0, steps);
    set_labels(steps);
  }
  if (std::any_of(heads_.begin(), heads_.begin() + static_cast<std::ptrdiff_t>(num_value_columns_),
                  [](const BitColumnHead& head) { return head.groups != 1; })) {
    if (num_labels > kMaxBitGroups) corrupt("it has too many labels");
    labels_.count();
  }
  for (std::size_t c = kGapOf; c < num_value_columns_; ++c) open(c, &labels_);
}

void LabelledColumns::unpack_values(std::size_t column, int first, std::span<std::uint64_t> out) const {
  if (times_.empty()) return values_[column].unpack(first, out);
  std::copy_n(times_[column].begin() + first, out.size(), out.begin());
}

void LabelledColumns::unpack_differences(std::span<const std::uint64_t> table, std::uint64_t before_first, int first,
                                         std::span<std::uint64_t> out) const {
  const std::uint16_t* labels = labels_.of.data() + first;
  std::uint64_t before = first == 0 ? before_first : table[labels[-1]];
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t value = table[labels[i]];
    out[i] = zigzag(value - before);
    before = value;
  }
}

// transfer begin - entry = duration - (end - transfer begin) - (entry - begin)
void LabelledColumns::unpack_transfer_begin(int first, std::span<std::uint64_t> out) const {
  std::array<std::uint64_t, ValueLabels::kBlock> scratch;
  for (std::size_t at = 0; at < out.size(); at += scratch.size()) {
    const std::span<std::uint64_t> block = out.subspan(at, std::min(scratch.size(), out.size() - at));
    const std::span<std::uint64_t> other = std::span(scratch).first(block.size());
    const int from = first + static_cast<int>(at);
    unpack_values(kDurationOf, from, block);
    unpack_values(kMoveOf, from, other);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] -= unzigzag(other[i]);
    unpack_values(kEntryOf, from, other);
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = zigzag(block[i] - unzigzag(other[i]));
  }
}

void LabelledColumns::unpack(int column, int first, std::span<std::uint64_t> out) const {
  const auto look_up = [&](LabelColumn of) {
    const std::uint16_t* labels = labels_.of.data() + first;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = label_value(of, labels[i]);
  };
  switch (static_cast<Column>(column)) {
    case Column::kGap:
      return unpack_values(kGapOf, first, out);
    case Column::kDuration:
      return unpack_values(kDurationOf, first, out);
    case Column::kOp:
      return unpack_differences(ops_, kBeforeFirstOp, first, out);
    case Column::kName:
      return look_up(kNameOf);
    case Column::kFlags:
      return look_up(kFlagsOf);
    case Column::kEntry:
      return unpack_values(kEntryOf, first, out);
    case Column::kTransferBegin:
      return unpack_transfer_begin(first, out);
    case Column::kTransferEnd:
      return unpack_values(kTransferEndOf, first, out);
    case Column::kSequence:
      return unpack_differences(sequences_, kBeforeFirstSequence, first, out);
    case Column::kBytes:
      return look_up(kBytesOf);
    case Column::kCommunicator:
      return look_up(kCommunicatorOf);
    case Column::kPeer:
      return look_up(kPeerOf);
  }
}

void LabelledColumns::find_names(std::span<const NameId> names, std::vector<std::uint32_t>& found) const {
  std::vector<std::uint8_t> wanted(static_cast<std::size_t>(labels_.num_labels));
  for (std::size_t l = 0; l < wanted.size(); ++l)
    wanted[l] = std::ranges::find(names, label_value(kNameOf, l)) != names.end();
  if (std::ranges::find(wanted, 1) == wanted.end()) return;
  constexpr std::size_t kLooked = 32;  // without a branch an event: most of them have other names
  const std::span<const std::uint16_t> labels = labels_.of;
  for (std::size_t first = 0; first < labels.size(); first += kLooked) {
    const std::size_t end = std::min(first + kLooked, labels.size());
    std::uint8_t any = 0;
    for (std::size_t i = first; i < end; ++i) any |= wanted[labels[i]];
    for (std::size_t i = first; any != 0 && i < end; ++i)
      if (wanted[labels[i]] != 0) found.push_back(static_cast<std::uint32_t>(i));
  }
}

}  // namespace spscope
