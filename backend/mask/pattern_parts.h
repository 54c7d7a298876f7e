// What the generators of mask patterns share: checks of a request, geometry of blocks, text, and selection of the
// highest scores.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/base/rng.h"
#include "backend/mask/pattern.h"

namespace spscope {

// A mask is refused when its bits and what its generator holds beside them need more: 4 GiB is 40 heads of 29,000
// blocks.
inline constexpr std::int64_t kMaxMaskBytes = std::int64_t{1} << 32;

// What a generator holds beside the bits: for each head, and for each block of each head. What it holds for one head or
// one row at a time is left out: it is far below the bits.
struct PatternScratch {
  std::int64_t bytes_per_head = 0, bytes_per_block = 0;
};

// Problems that every pattern has with a request: shape, block, density, memory.
std::vector<Problem> check_request(const PatternRequest& request, const PatternScratch& scratch = {});

// Rows `dense_steps` and `dense_layers`: released systems keep the first steps and layers dense.
std::vector<Parameter> warmup_parameters();
bool is_warmup(const PatternRequest& request);

BlockMask all_active(const PatternRequest& request);
int num_video_blocks(const PatternRequest& request);
// The active share of (video query, video key) pairs that brings the whole mask, text included, to the wanted density;
// clamped to [0, 1].
double video_density(const PatternRequest& request);
// Activates all rows and columns of text blocks.
void fill_text(BlockMask& mask, const PatternRequest& request);

// Where the centre of each video block lies along the three axes of `order` (0 frame, 1 y, 2 x; slowest first), each
// scaled to [0, 1). Blocks are cut from the tokens in that order.
struct BlockPositions {
  std::array<std::vector<float>, 3> along;
};
BlockPositions block_positions(const PatternRequest& request, std::array<int, 3> order);

// An independent generator for each (layer, head, purpose) of a seed.
Rng rng_of(const PatternRequest& request, int head, int purpose);

// Writes the scores of a row. Called more than once for a row, it must write the same.
using ScoreRow = std::function<void(std::size_t row, std::span<float> scores)>;

// The k-th highest of rows x columns scores (k from 1). They are not held: two passes make and count them, first by the
// upper half of their bits, then by the lower half of those that share the upper half of the answer.
// REQUIRES: 1 <= k <= rows * columns, no NaN.
float kth_highest(std::size_t rows, std::size_t columns, std::int64_t k, const ScoreRow& score_row);

// Sets the bit of each entry whose score is at least `threshold`.
void set_at_least(std::span<const float> scores, float threshold, std::span<std::uint64_t> row);

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
  std::vector<Weighted> entries_;
};

}  // namespace spscope
