// Columns of unsigned numbers in few bits each: most numbers of a column are small, and how small depends on what they
// are of. Each value belongs to a label (below num_labels); either all values have one width, or the values of each
// label have their own. The few values that are wider are exceptions, whose high bits stand apart.
//
//   u8 width of each group; low bits of all values, one after another; u16 position of each exception, ascending; high
//   bits of each exception, in the order of the positions. Both runs of bits begin at a byte and fill bytes from the
//   lowest bit on.
//
// A group is a label, or all labels when there is one group. Widths are at most 56 bits, so that eight bytes hold any
// value wherever its first bit is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// Stored as it lies in memory.
struct BitColumnHead {
  std::uint8_t groups = 1;       // 1, or the number of labels
  std::uint8_t high_width = 0;   // bits of the high part of an exception
  std::uint16_t exceptions = 0;  // how many
  std::uint32_t bytes = 0;       // of everything above
};
static_assert(sizeof(BitColumnHead) == 8);

inline constexpr int kMaxBitGroups = 64;
inline constexpr int kMaxBitWidth = 56;

// The label of each value of a chunk.
struct ValueLabels {
  static constexpr int kBlock = 256;  // values
  int num_labels = 1;
  std::vector<std::uint16_t> of;  // of each value

  // How many of the values before each block have each label: count_before[block * num_labels + label]; one more block
  // than there are. REQUIRES: at most kMaxBitGroups labels.
  void count();
  std::vector<std::uint16_t> count_before;
};

// Appends the column of these values, in one group without labels. REQUIRES: 1 to 65,535 values, as many as labels.
BitColumnHead append_bit_column(std::span<const std::uint64_t> values, const ValueLabels* labels,
                                std::vector<std::uint8_t>& out);

// The most bytes that a column of `count` values takes.
constexpr std::size_t max_bit_column_bytes(std::size_t count) {
  return kMaxBitGroups + count * (kMaxBitWidth / 8 + sizeof(std::uint16_t) + kMaxBitWidth / 8) + 2;
}

// Reads a column in place. The bytes must outlive it, with eight more behind them that may be read.
class BitColumn {
 public:
  // Nothing is believed: false unless the bytes are a column of `count` values with these labels. `labels` may be
  // nullptr while only columns of one group are read, and must outlive this and be counted otherwise.
  bool open(const BitColumnHead& head, std::span<const std::uint8_t> data, int count, const ValueLabels* labels);
  // Values `first` to `first + out.size() - 1`.
  void unpack(int first, std::span<std::uint64_t> out) const;
  bool all_zero() const { return exceptions_ == 0 && groups_ == 1 && widths_[0] == 0; }

 private:
  std::size_t bits_before(int first) const;
  void add_exceptions(int first, std::span<std::uint64_t> out) const;
  int width_at(std::size_t i) const { return widths_[groups_ == 1 ? 0 : labels_->of[i]]; }

  int groups_ = 1, exceptions_ = 0, high_width_ = 0;
  const ValueLabels* labels_ = nullptr;
  const std::uint8_t *low_ = nullptr, *positions_ = nullptr, *high_ = nullptr;
  std::array<std::uint8_t, kMaxBitGroups> widths_{};
};

}  // namespace spscope
