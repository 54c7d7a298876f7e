#include "backend/mask/selection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "backend/base/check.h"

namespace spscope {
namespace {

// Unsigned numbers in the order of the floats: the sign bit flipped, and all bits of negative ones.
constexpr std::uint32_t kSignBit = 1U << 31;
std::uint32_t ordered_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
float from_ordered_bits(std::uint32_t bits) {
  return std::bit_cast<float>((bits & kSignBit) != 0 ? bits & ~kSignBit : ~bits);
}

// Buckets of weights in [0, 1], in their order: eight to a power of two.
constexpr int kBucketShift = 20;
std::size_t bucket_of(float weight) { return std::bit_cast<std::uint32_t>(weight) >> kBucketShift; }
float lowest_of_bucket(std::size_t bucket) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bucket) << kBucketShift);
}

// Two passes of radix selection: by the upper half of the bits, then by the lower half of those that share the upper
// half of the answer.
Cut kth_by_radix(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row) {
  constexpr int kHalf = 16;
  std::vector<float> scores(columns);
  std::vector<std::int64_t> counts(std::size_t{1} << kHalf);
  // The highest digit from which on at least k scores are counted; leaves in k its place among those of that digit.
  auto highest_digit = [&] {
    std::size_t digit = counts.size() - 1;
    for (; counts[digit] < k; --digit) k -= counts[digit];
    return static_cast<std::uint32_t>(digit);
  };
  for (std::size_t row = 0; row < rows; ++row) {
    score_row(row, scores);
    for (float score : scores) ++counts[ordered_bits(score) >> kHalf];
  }
  const std::uint32_t upper = highest_digit();
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t row = 0; row < rows; ++row) {
    score_row(row, scores);
    for (float score : scores) {
      const std::uint32_t bits = ordered_bits(score);
      if (bits >> kHalf == upper) ++counts[bits & 0xffffU];
    }
  }
  const std::uint32_t lower = highest_digit();
  return {.threshold = from_ordered_bits(upper << kHalf | lower), .ties = counts[lower], .ties_kept = k};
}

// The scores between two guesses, and how many are above both.
struct Bracket {
  float low, high;
  std::int64_t above = 0;
  std::vector<float> inside = {};
};

// Guesses from every kSampled-th row that the answer is between, with room for rows that differ from each other.
Bracket guess(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row) {
  constexpr std::size_t kSampled = 31;
  constexpr double kRoom = 0.02;  // of all scores, on either side
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> sample;
  for (std::size_t row = kSampled / 2; row < rows; row += kSampled) {
    sample.resize(sample.size() + columns);
    score_row(row, std::span(sample).last(columns));
  }
  Bracket bracket{-kInfinity, kInfinity};
  const double share = static_cast<double>(k) / static_cast<double>(rows * columns);
  const auto at_share = [&](double of) {
    const auto place = sample.begin() + static_cast<std::ptrdiff_t>(of * static_cast<double>(sample.size()));
    std::nth_element(sample.begin(), place, sample.end(), std::greater<>());
    return *place;
  };
  if (!sample.empty() && share - kRoom > 0) bracket.high = at_share(share - kRoom);
  if (!sample.empty() && share + kRoom < 1) bracket.low = at_share(share + kRoom);
  return bracket;
}

// One pass that keeps the scores in a bracket; nullopt when the answer is not in it, or too many are.
std::optional<Cut> kth_in_bracket(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row) {
  constexpr std::size_t kFewest = 1 << 16;  // scores, below which sorting out a sample takes longer
  if (rows * columns < kFewest) return std::nullopt;
  Bracket bracket = guess(rows, columns, k, score_row);
  const std::size_t most = rows * columns / 8;
  std::vector<float> scores(columns);
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    score_row(row, scores);
    if (count + columns > bracket.inside.size()) bracket.inside.resize(2 * bracket.inside.size() + columns);
    for (const float score : scores) {
      bracket.above += score > bracket.high;
      bracket.inside[count] = score;
      count += score >= bracket.low && score <= bracket.high;
    }
    if (count > most || bracket.above >= k) return std::nullopt;
  }
  const std::int64_t left = k - bracket.above;
  if (left > static_cast<std::int64_t>(count)) return std::nullopt;
  bracket.inside.resize(count);
  const auto place = bracket.inside.begin() + (left - 1);
  std::nth_element(bracket.inside.begin(), place, bracket.inside.end(), std::greater<>());
  Cut cut{.threshold = *place, .ties = 0, .ties_kept = left};
  for (const float score : bracket.inside) {
    cut.ties += score == cut.threshold;
    cut.ties_kept -= score > cut.threshold;
  }
  return cut;
}

}  // namespace

Cut kth_highest(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row) {
  SPSCOPE_CHECK(k >= 1 && k <= static_cast<std::int64_t>(rows * columns));
  const std::optional<Cut> found = kth_in_bracket(rows, columns, k, score_row);
  return found ? *found : kth_by_radix(rows, columns, k, score_row);
}

// Counts scores in equal buckets between the lowest and the highest; only the bucket that holds the answer is ordered.
Cut RowCut::find(std::span<const float> scores, std::size_t k) {
  SPSCOPE_CHECK(k >= 1 && k <= scores.size());
  constexpr int kBuckets = 1024;
  const auto [low, high] = std::ranges::minmax(scores);
  const float scale = high > low ? (kBuckets - 1) / (high - low) : 0.0F;
  buckets_.resize(scores.size());
  counts_.assign(kBuckets, 0);
  for (std::size_t j = 0; j < scores.size(); ++j) buckets_[j] = static_cast<std::int32_t>((scores[j] - low) * scale);
  for (std::int32_t bucket : buckets_) ++counts_[bucket];
  std::int32_t border = kBuckets - 1;
  auto left = static_cast<std::int64_t>(k);
  for (; counts_[border] < left; --border) left -= counts_[border];
  border_.clear();
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (buckets_[j] == border) border_.push_back(scores[j]);
  }
  std::nth_element(border_.begin(), border_.begin() + (left - 1), border_.end(), std::greater<>());
  Cut cut{.threshold = border_[left - 1], .ties = 0, .ties_kept = left};
  for (float score : border_) {
    cut.ties += score == cut.threshold;
    cut.ties_kept -= score > cut.threshold;
  }
  return cut;
}

void set_by_cut(std::span<const float> scores, const Cut& cut, std::span<std::uint64_t> row) {
  if (cut.ties == cut.ties_kept) {
    set_at_least(scores, cut.threshold, row);
    return;
  }
  CutTaker taker(cut);
  for (std::size_t j = 0; j < scores.size(); ++j) row[j / 64] |= std::uint64_t{taker.takes(scores[j])} << (j % 64);
}

int set_at_least(std::span<const float> scores, float threshold, std::span<std::uint64_t> row) {
  int count = 0;
  for (std::size_t first = 0; first < scores.size(); first += 64) {
    const std::size_t end = std::min(first + 64, scores.size());
    std::uint64_t word = 0;
    for (std::size_t j = first; j < end; ++j) word |= static_cast<std::uint64_t>(scores[j] >= threshold) << (j - first);
    row[first / 64] |= word;
    count += std::popcount(word);
  }
  return count;
}

// Sums of weight by the upper bits of the weights say in which bucket the running sum passes `cdf`; of that bucket the
// heaviest are taken by halving. Weights of a bucket share their exponent, so that their sum in double is exact in any
// order. Neighbours are often in one bucket, whose additions wait for each other: the row is summed from four places.
int TopCdf::select(std::span<const float> logits, double cdf, std::span<std::uint64_t> row) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  if (std::isinf(highest)) return 0;
  const std::size_t size = logits.size(), quarter = size / 4;
  weights_.resize(size);
  for (std::size_t j = 0; j < size; ++j) weights_[j] = std::exp(logits[j] - highest);
  bucket_sums_.assign(bucket_of(1.0F) + 1, 0);
  std::array<double, 4> sums = {};
  const auto add = [&](std::size_t j, std::size_t part) {
    bucket_sums_[bucket_of(weights_[j])] += weights_[j];
    sums[part] += weights_[j];
  };
  for (std::size_t j = 0; j < quarter; ++j)
    for (std::size_t part = 0; part < sums.size(); ++part) add(j + part * quarter, part);
  for (std::size_t j = sums.size() * quarter; j < size; ++j) add(j, 0);
  double wanted = cdf * (sums[0] + sums[1] + sums[2] + sums[3]);
  std::size_t border = bucket_sums_.size() - 1;
  for (; border > 0 && bucket_sums_[border] < wanted; --border) wanted -= bucket_sums_[border];
  const float above = lowest_of_bucket(border + 1);
  const float low = std::max(lowest_of_bucket(border), std::numeric_limits<float>::denorm_min());  // -inf has no weight
  const int chosen = set_at_least(weights_, above, row);
  entries_.resize(size);
  std::size_t count = 0;
  for (std::size_t j = 0; j < size; ++j) {
    entries_[count] = {weights_[j], static_cast<std::int32_t>(j)};
    count += weights_[j] >= low && weights_[j] < above;
  }
  entries_.resize(count);
  const std::size_t more = heaviest_until(wanted);
  for (std::size_t i = 0; i < more; ++i) row[entries_[i].column / 64] |= std::uint64_t{1} << (entries_[i].column % 64);
  return chosen + static_cast<int>(more);
}

// Quickselect on weight: each round halves the candidates and keeps the half in which the running sum passes `wanted`.
std::size_t TopCdf::heaviest_until(double wanted) {
  auto heavier = [](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.column < b.column;
  };
  // Invariant: the first `begin` entries are chosen and hold `chosen` weight; the answer ends in (begin, end].
  std::size_t begin = 0, end = entries_.size();
  double chosen = 0;
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(entries_.begin() + begin, entries_.begin() + middle, entries_.begin() + end, heavier);
    double half = 0;
    for (std::size_t i = begin; i < middle; ++i) half += entries_[i].weight;
    if (chosen + half >= wanted) {
      end = middle;
    } else {
      chosen += half;
      begin = middle;
    }
  }
  return end;
}

}  // namespace spscope
