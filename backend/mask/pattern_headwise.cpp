// Pattern `headwise`: a stress mask of db-SP's ablation (test/ablation_study.py of thu-nics/db-SP f13ced5, 2025-12). 16
// of 40 heads are dense, the others empty, so that groups of neighbouring heads differ most: 2.5 on 8 ranks. Other
// numbers of heads repeat or thin the list. The requested density is ignored; it is 0.4 at 40 heads. Queries of an
// empty head have no keys, and their output is 0.
#include <algorithm>
#include <array>

#include "backend/mask/pattern_parts.h"

namespace spscope {
namespace {

constexpr std::int64_t kHeads = 40;
constexpr std::array kDense = {0, 1, 2, 3, 4, 5, 10, 15, 20, 21, 25, 26, 30, 31, 35, 36};

// Dense heads among the first `first` of `heads`.
std::int64_t num_dense(std::int64_t first, std::int64_t heads) {
  const auto listed = std::ranges::lower_bound(kDense, static_cast<int>(first * kHeads / heads)) - kDense.begin();
  return (listed * heads + kHeads - 1) / kHeads;
}

}  // namespace

std::vector<Parameter> parameters_headwise() { return {}; }

std::vector<Problem> check_headwise(const PatternRequest& request) { return check_request(request); }

BlockMask generate_headwise(const PatternRequest& request) {
  BlockMask mask(request.heads, block_starts(request));
  for (int head = 0; head < request.heads; ++head) {
    if (num_dense(head + 1, request.heads) == num_dense(head, request.heads)) continue;
    for (std::int32_t q = 0; q < mask.blocks(); ++q) set_blocks(mask.mutable_row(head, q), 0, mask.blocks());
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
