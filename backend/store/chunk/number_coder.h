// Numbers in about as many bits as they tell. Which lengths the numbers of a model have, whether they are negative and
// what their first bits are is learnt from the numbers before and told by a range coder; the bits behind those are
// mostly noise and stand apart as they are.
//
//   number  bit: not zero; six bits, the highest first: length of the magnitude minus 1; bit: negative; at most three
//           bits after the highest; the others, plain
//
// The range is [low, high], first all of 32 bits. A bit takes [low, middle] if it is one and [middle + 1, high] if not,
// middle = low + (high - low) x chance / 65,536. While low and high have the same highest byte that byte goes out, from
// below come 0x00 to low and 0xff to high. At the end one byte goes out, the highest of low plus 1; a reader takes
// zeros for what follows. The chance of a one begins at 32,768; bit n of its kind, from 0 on, moves it to 65,504 or 32,
// by a / 65,536 of the way, a = 131,072 / (2 n + 3) and 255 from the 255th on. All divisions round down.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// The chance of a bit.
class BitModel {
 public:
  std::uint32_t one() const { return chance_; }  // in 1/65,536: 32 to 65,504
  void learn(bool bit);

 private:
  std::uint16_t chance_ = 1u << 15, steps_ = 0;
};

// The chances of all bits of a number, by those before.
struct NumberModel {
  BitModel not_zero, negative;
  std::array<BitModel, 64> length;              // a tree: node 1, and below node n those of 2n and 2n + 1
  std::array<std::array<BitModel, 8>, 64> top;  // by length minus 1, as a tree
};

class NumberEncoder {
 public:
  void put(NumberModel& model, std::int64_t number);
  // Both parts are complete after this, and nothing more may be put.
  void finish();
  const std::vector<std::uint8_t>& coded() const { return coded_; }
  const std::vector<std::uint8_t>& plain() const { return plain_; }

 private:
  void put_bit(BitModel& model, bool bit);
  void put_plain(std::uint64_t bits, int width);

  std::vector<std::uint8_t> coded_, plain_;
  std::uint32_t low_ = 0, high_ = ~std::uint32_t{0};
  std::uint64_t word_ = 0;
  int filled_ = 0;
};

// Any bytes are some numbers: at_end() tells whether they were exactly those. The bytes must outlive it.
class NumberDecoder {
 public:
  NumberDecoder(std::span<const std::uint8_t> coded, std::span<const std::uint8_t> plain);
  std::int64_t get(NumberModel& model);
  // Whether all bytes have been read and none behind them.
  bool at_end() const;

 private:
  bool get_bit(BitModel& model);
  std::uint64_t get_plain(int width);
  std::uint8_t next() { return at_ < coded_.size() ? coded_[at_++] : (++behind_, std::uint8_t{0}); }

  std::span<const std::uint8_t> coded_, plain_;
  std::size_t at_ = 0, behind_ = 0, bit_ = 0;
  std::uint32_t low_ = 0, high_ = ~std::uint32_t{0}, code_ = 0;
};

}  // namespace spscope
