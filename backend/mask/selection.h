// Selection of the highest scores of a mask, by number or by softmax weight.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace spscope {

// Writes the scores of a row; may be called more than once for a row and must write the same values.
using ScoreRow = std::function<void(std::size_t row, std::span<float> scores)>;

// The threshold of the k highest scores: the k-th highest, and how many of the scores equal to it are among them.
struct Cut {
  float threshold = 0;
  std::int64_t ties = 0, ties_kept = 0;
};
// The cut of rows x columns scores, which are generated rather than stored: of many, sampled rows guess between which
// values it is and one pass sorts those; else, or where the guess is wrong, by two passes of radix selection, first by
// the upper half of their bits, then by the lower half of those that share the upper half of the answer. REQUIRES: 1 <=
// k <= rows * columns, no NaN.
Cut kth_highest(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row);

// The same for stored scores, fast for single rows. REQUIRES: 1 <= k <= scores.size(), finite scores.
class RowCut {
 public:
  Cut find(std::span<const float> scores, std::size_t k);

 private:
  std::vector<std::int32_t> buckets_, counts_;
  std::vector<float> border_;
};

// Accepts exactly the k highest of the scores passed to it: all above the threshold, and `ties_kept` of those equal to
// it, spread evenly over the order of the calls.
class CutTaker {
 public:
  explicit CutTaker(const Cut& cut) : cut_(cut) {}
  bool takes(float score) {
    if (score != cut_.threshold) return score > cut_.threshold;
    if (cut_.ties == cut_.ties_kept) return true;
    ++tie_;
    return tie_ * cut_.ties_kept / cut_.ties > (tie_ - 1) * cut_.ties_kept / cut_.ties;
  }

 private:
  Cut cut_;
  std::int64_t tie_ = 0;
};

// Sets the bits of exactly the scores of a row that CutTaker takes.
void set_by_cut(std::span<const float> scores, const Cut& cut, std::span<std::uint64_t> row);

// Sets the bit of each entry whose score is at least `threshold`. Returns how many there are.
int set_at_least(std::span<const float> scores, float threshold, std::span<std::uint64_t> row);

// Adds the smallest set of columns whose softmax weights sum to `cdf` or more, at least one; columns of -inf have no
// weight. Ties go to the lower column. Returns how many columns it chose.
class TopCdf {
 public:
  int select(std::span<const float> logits, double cdf, std::span<std::uint64_t> row);

 private:
  struct Weighted {
    float weight;
    std::int32_t column;
  };
  // Orders entries_ so that its first ones, as many as returned, are the fewest that weigh `wanted`; at least one.
  std::size_t heaviest_until(double wanted);

  std::vector<float> weights_;
  std::vector<double> bucket_sums_;
  std::vector<Weighted> entries_;
};

}  // namespace spscope
