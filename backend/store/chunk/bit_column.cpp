#include "backend/store/chunk/bit_column.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/base/check.h"

namespace spscope {

namespace {

constexpr std::size_t kPositionBits = 8 * sizeof(std::uint16_t);
constexpr int kLengths = 65;  // a value is 0 to 64 bits long

constexpr std::uint64_t mask_of(int width) { return (std::uint64_t{1} << width) - 1; }
constexpr std::size_t bytes_of(std::size_t bits) { return (bits + 7) / 8; }

// Bit `bit` and those after it of a run of bits, from the lowest on; at least 57 of them are right.
std::uint64_t load(const std::uint8_t* from, std::size_t bit) {
  std::uint64_t word;
  std::memcpy(&word, from + bit / 8, sizeof word);
  return word >> bit % 8;
}

std::uint16_t position_at(const std::uint8_t* positions, int i) {
  std::uint16_t position;
  std::memcpy(&position, positions + static_cast<std::size_t>(i) * sizeof position, sizeof position);
  return position;
}

// Appends bits behind the bytes that are there.
class BitAppender {
 public:
  // REQUIRES: `bits` is all that will be put.
  BitAppender(std::vector<std::uint8_t>& out, std::size_t bits) : out_(out), size_(out.size() + bytes_of(bits)) {
    const std::size_t begin = out.size();
    out.resize(size_ + sizeof word_);  // whole words are stored
    at_ = out.data() + begin;
  }
  ~BitAppender() { out_.resize(size_); }
  BitAppender(const BitAppender&) = delete;
  BitAppender& operator=(const BitAppender&) = delete;

  // REQUIRES: x < 2^width, width <= kMaxBitWidth.
  void put(std::uint64_t x, int width) {
    word_ |= x << filled_;
    filled_ += width;
    std::memcpy(at_, &word_, sizeof word_);
    at_ += filled_ / 8;
    word_ >>= filled_ & ~7;
    filled_ %= 8;
  }

 private:
  std::vector<std::uint8_t>& out_;
  std::size_t size_;
  std::uint8_t* at_;
  std::uint64_t word_ = 0;
  int filled_ = 0;
};

using Lengths = std::array<std::uint32_t, kLengths>;  // how many values are that many bits long

struct Choice {
  int width = 0;
  std::size_t bits = 0;  // that the values take, exceptions included
};

// The width that takes the fewest bits when the longest value of the column has `longest` bits.
Choice best_width(const Lengths& lengths, int longest) {
  std::size_t count = 0, wider = 0;
  for (const std::uint32_t n : lengths) count += n;
  Choice best{.width = longest, .bits = count * static_cast<std::size_t>(longest)};
  if (longest > kMaxBitWidth) best.bits = ~std::size_t{0};
  for (int width = longest - 1; width >= std::max(0, longest - kMaxBitWidth); --width) {
    wider += lengths[static_cast<std::size_t>(width) + 1];
    if (width > kMaxBitWidth) continue;
    const std::size_t bits =
        count * static_cast<std::size_t>(width) + wider * (kPositionBits + static_cast<std::size_t>(longest - width));
    if (bits <= best.bits) best = {width, bits};
  }
  return best;
}

struct Widths {
  std::array<std::uint8_t, kMaxBitGroups> of{};
  int groups = 1;
};

Widths choose_widths(std::span<const std::uint64_t> values, const ValueLabels* labels, int longest) {
  const bool may_group = labels != nullptr && 1 < labels->num_labels && labels->num_labels <= kMaxBitGroups;
  std::array<Lengths, kMaxBitGroups> lengths;
  const auto num_labels = static_cast<std::size_t>(may_group ? labels->num_labels : 1);
  for (std::size_t l = 0; l < num_labels; ++l) lengths[l].fill(0);
  for (std::size_t i = 0; i < values.size(); ++i)
    ++lengths[may_group ? labels->of[i] : 0][static_cast<std::size_t>(std::bit_width(values[i]))];
  Lengths all{};
  std::size_t grouped_bits = 8 * (num_labels - 1);
  Widths grouped{.groups = static_cast<int>(num_labels)}, one;
  for (std::size_t l = 0; l < num_labels; ++l) {
    const Choice choice = best_width(lengths[l], longest);
    grouped.of[l] = static_cast<std::uint8_t>(choice.width);
    grouped_bits += choice.bits;
    for (std::size_t n = 0; n < all.size(); ++n) all[n] += lengths[l][n];
  }
  const Choice choice = best_width(all, longest);
  one.of[0] = static_cast<std::uint8_t>(choice.width);
  return grouped_bits < choice.bits ? grouped : one;
}

}  // namespace

void ValueLabels::count() {
  SPSCOPE_CHECK(num_labels <= kMaxBitGroups);
  const auto labels = static_cast<std::size_t>(num_labels);
  const std::size_t blocks = (of.size() + kBlock - 1) / kBlock;
  count_before.assign((blocks + 1) * labels, 0);
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint16_t* next = count_before.data() + (block + 1) * labels;
    std::copy_n(next - labels, labels, next);
    const std::size_t end = std::min(of.size(), (block + 1) * kBlock);
    for (std::size_t i = block * kBlock; i < end; ++i) ++next[of[i]];
  }
}

BitColumnHead append_bit_column(std::span<const std::uint64_t> values, const ValueLabels* labels,
                                std::vector<std::uint8_t>& out) {
  std::uint64_t all = 0;
  for (const std::uint64_t x : values) all |= x;
  const std::size_t begin = out.size();
  BitColumnHead head;
  if (all == 0) {
    out.push_back(0);
    head.bytes = 1;
    return head;
  }
  const Widths widths = choose_widths(values, labels, static_cast<int>(std::bit_width(all)));
  out.insert(out.end(), widths.of.begin(), widths.of.begin() + widths.groups);
  const auto width_at = [&](std::size_t i) { return int{widths.of[widths.groups == 1 ? 0 : labels->of[i]]}; };
  std::vector<std::uint16_t> exceptions;
  std::size_t bits = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int width = width_at(i);
    bits += static_cast<std::size_t>(width);
    if (values[i] >> width == 0) continue;
    high |= values[i] >> width;
    exceptions.push_back(static_cast<std::uint16_t>(i));
  }
  {
    BitAppender low(out, bits);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int width = width_at(i);
      low.put(values[i] & mask_of(width), width);
    }
  }
  const auto* positions = reinterpret_cast<const std::uint8_t*>(exceptions.data());
  out.insert(out.end(), positions, positions + exceptions.size() * sizeof exceptions[0]);
  const int high_width = static_cast<int>(std::bit_width(high));
  {
    BitAppender rest(out, exceptions.size() * static_cast<std::size_t>(high_width));
    for (const std::uint16_t i : exceptions) rest.put(values[i] >> width_at(i), high_width);
  }
  head.groups = static_cast<std::uint8_t>(widths.groups);
  head.high_width = static_cast<std::uint8_t>(high_width);
  head.exceptions = static_cast<std::uint16_t>(exceptions.size());
  head.bytes = static_cast<std::uint32_t>(out.size() - begin);
  return head;
}

bool BitColumn::open(const BitColumnHead& head, std::span<const std::uint8_t> data, int count,
                     const ValueLabels* labels) {
  const int num_labels = labels == nullptr ? 1 : labels->num_labels;
  if (head.groups != 1 && (head.groups != num_labels || num_labels > kMaxBitGroups)) return false;
  if (head.high_width > kMaxBitWidth || head.exceptions > count || data.size() != head.bytes) return false;
  groups_ = head.groups, exceptions_ = head.exceptions, high_width_ = head.high_width;
  labels_ = labels;
  const auto groups = static_cast<std::size_t>(groups_);
  if (data.size() < groups) return false;
  std::copy_n(data.begin(), groups, widths_.begin());
  if (std::any_of(widths_.begin(), widths_.begin() + groups_, [](auto width) { return width > kMaxBitWidth; }))
    return false;
  const std::size_t low_bytes = bytes_of(bits_before(count)),
                    positions = static_cast<std::size_t>(exceptions_) * sizeof(std::uint16_t),
                    high_bytes = bytes_of(static_cast<std::size_t>(exceptions_) * head.high_width);
  if (data.size() != groups + low_bytes + positions + high_bytes) return false;
  low_ = data.data() + groups, positions_ = low_ + low_bytes, high_ = positions_ + positions;
  for (int i = 0, before = -1; i < exceptions_; ++i) {
    const int position = position_at(positions_, i);
    if (position <= before || position >= count) return false;
    before = position;
  }
  return true;
}

// Of the values before `first`.
std::size_t BitColumn::bits_before(int first) const {
  if (groups_ == 1) return static_cast<std::size_t>(first) * widths_[0];
  const int block = first / ValueLabels::kBlock;
  const std::uint16_t* counts =
      labels_->count_before.data() + static_cast<std::size_t>(block) * static_cast<std::size_t>(groups_);
  std::size_t bits = 0;
  for (std::size_t g = 0; g < static_cast<std::size_t>(groups_); ++g) bits += std::size_t{counts[g]} * widths_[g];
  for (int i = block * ValueLabels::kBlock; i < first; ++i)
    bits += static_cast<std::size_t>(width_at(static_cast<std::size_t>(i)));
  return bits;
}

void BitColumn::unpack(int first, std::span<std::uint64_t> out) const {
  std::size_t bit = bits_before(first);
  if (groups_ == 1) {
    const std::size_t width = widths_[0];
    const std::uint64_t mask = mask_of(widths_[0]);
    if (width == 0)
      std::ranges::fill(out, 0);
    else
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = load(low_, bit + i * width) & mask;
  } else {
    const std::uint16_t* labels = labels_->of.data() + first;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int width = widths_[labels[i]];
      out[i] = load(low_, bit) & mask_of(width);
      bit += static_cast<std::size_t>(width);
    }
  }
  if (exceptions_ > 0) add_exceptions(first, out);
}

void BitColumn::add_exceptions(int first, std::span<std::uint64_t> out) const {
  int begin = 0;
  for (int end = exceptions_; begin < end;) {
    const int middle = (begin + end) / 2;
    if (position_at(positions_, middle) < first)
      begin = middle + 1;
    else
      end = middle;
  }
  const int last = first + static_cast<int>(out.size());
  for (int i = begin; i < exceptions_ && position_at(positions_, i) < last; ++i) {
    const int position = position_at(positions_, i);
    const std::uint64_t high =
        load(high_, static_cast<std::size_t>(i) * static_cast<std::size_t>(high_width_)) & mask_of(high_width_);
    out[static_cast<std::size_t>(position - first)] |= high << width_at(static_cast<std::size_t>(position));
  }
}

}  // namespace spscope
