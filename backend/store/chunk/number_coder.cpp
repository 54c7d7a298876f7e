#include "backend/store/chunk/number_coder.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spscope {

namespace {

constexpr int kLengthBits = 6, kTopBits = 3;
constexpr std::uint16_t kSteps = 255;  // from here on a chance moves no slower
constexpr std::uint16_t kSurest = 32;  // no bit is surer than this, so that a surprise is never dear

// 65,536 / (n + 1.5)
constexpr std::array<std::uint32_t, kSteps + 1> kRates = [] {
  std::array<std::uint32_t, kSteps + 1> rates{};
  for (std::uint32_t n = 0; n <= kSteps; ++n) rates[n] = 131'072 / (2 * n + 3);
  return rates;
}();

constexpr std::uint64_t magnitude_of(std::int64_t x) {
  return x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
}
constexpr bool same_byte(std::uint32_t low, std::uint32_t high) { return (low ^ high) >> 24 == 0; }
std::uint32_t middle_of(std::uint32_t low, std::uint32_t high, const BitModel& model) {
  return low + static_cast<std::uint32_t>(std::uint64_t{high - low} * model.one() >> 16);
}

}  // namespace

void BitModel::learn(bool bit) {
  const std::uint32_t rate = kRates[steps_];
  if (bit)
    chance_ = static_cast<std::uint16_t>(chance_ + ((65'536 - kSurest - chance_) * rate >> 16));
  else
    chance_ = static_cast<std::uint16_t>(chance_ - ((chance_ - kSurest) * rate >> 16));
  steps_ = static_cast<std::uint16_t>(steps_ + (steps_ < kSteps));
}

void NumberEncoder::put_bit(BitModel& model, bool bit) {
  const std::uint32_t middle = middle_of(low_, high_, model);
  if (bit)
    high_ = middle;
  else
    low_ = middle + 1;
  model.learn(bit);
  for (; same_byte(low_, high_); low_ <<= 8, high_ = high_ << 8 | 0xff)
    coded_.push_back(static_cast<std::uint8_t>(high_ >> 24));
}

void NumberEncoder::put_plain(std::uint64_t bits, int width) {
  for (int n; width > 0; width -= n, bits >>= n) {
    n = std::min(width, 32);
    word_ |= (bits & ((std::uint64_t{1} << n) - 1)) << filled_;
    for (filled_ += n; filled_ >= 8; filled_ -= 8, word_ >>= 8) plain_.push_back(static_cast<std::uint8_t>(word_));
  }
}

void NumberEncoder::put(NumberModel& model, std::int64_t number) {
  put_bit(model.not_zero, number != 0);
  if (number == 0) return;
  const std::uint64_t magnitude = magnitude_of(number);
  const int length = static_cast<int>(std::bit_width(magnitude)) - 1;
  std::size_t node = 1;
  for (int i = kLengthBits - 1; i >= 0; --i) {
    const bool bit = length >> i & 1;
    put_bit(model.length[node], bit);
    node = 2 * node + bit;
  }
  put_bit(model.negative, number < 0);
  const int plain = std::max(0, length - kTopBits);
  node = 1;
  for (int i = length - 1; i >= plain; --i) {
    const bool bit = magnitude >> i & 1;
    put_bit(model.top[static_cast<std::size_t>(length)][node], bit);
    node = 2 * node + bit;
  }
  put_plain(magnitude, plain);
}

void NumberEncoder::finish() {
  coded_.push_back(static_cast<std::uint8_t>((low_ >> 24) + 1));
  if (filled_ > 0) plain_.push_back(static_cast<std::uint8_t>(word_));
}

NumberDecoder::NumberDecoder(std::span<const std::uint8_t> coded, std::span<const std::uint8_t> plain)
    : coded_(coded), plain_(plain) {
  for (int i = 0; i < 4; ++i) code_ = code_ << 8 | next();
}

bool NumberDecoder::get_bit(BitModel& model) {
  const std::uint32_t middle = middle_of(low_, high_, model);
  const bool bit = code_ <= middle;
  if (bit)
    high_ = middle;
  else
    low_ = middle + 1;
  model.learn(bit);
  for (; same_byte(low_, high_); low_ <<= 8, high_ = high_ << 8 | 0xff) code_ = code_ << 8 | next();
  return bit;
}

std::uint64_t NumberDecoder::get_plain(int width) {
  std::uint64_t bits = 0;
  for (int done = 0, n; done < width; done += n, bit_ += static_cast<std::size_t>(n)) {
    n = std::min(width - done, 32);
    std::uint64_t word = 0;
    const std::size_t byte = bit_ / 8;
    if (byte < plain_.size()) std::memcpy(&word, plain_.data() + byte, std::min(sizeof word, plain_.size() - byte));
    bits |= (word >> bit_ % 8 & ((std::uint64_t{1} << n) - 1)) << done;
  }
  return bits;
}

std::int64_t NumberDecoder::get(NumberModel& model) {
  if (!get_bit(model.not_zero)) return 0;
  std::size_t node = 1;
  for (int i = 0; i < kLengthBits; ++i) node = 2 * node + get_bit(model.length[node]);
  const std::size_t length = node - (std::size_t{1} << kLengthBits);
  const bool negative = get_bit(model.negative);
  const int plain = std::max(0, static_cast<int>(length) - kTopBits);
  std::uint64_t magnitude = 1;
  for (int i = static_cast<int>(length); i > plain; --i)
    magnitude = magnitude << 1 | get_bit(model.top[length][magnitude]);
  magnitude = magnitude << plain | get_plain(plain);
  return static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude);
}

bool NumberDecoder::at_end() const { return at_ == coded_.size() && behind_ == 3 && (bit_ + 7) / 8 == plain_.size(); }

}  // namespace spscope
