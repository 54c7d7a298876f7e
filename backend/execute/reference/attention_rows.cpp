#include "backend/execute/reference/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace spscope {
namespace {

// Keys that every row attends to alike: tokens of one block of the mask.
struct Piece {
  std::int32_t begin, end, block;
};

std::vector<Piece> pieces_of(std::span<const std::int32_t> starts, std::span<const std::int32_t> tokens,
                             const KeyChoice& keys) {
  const std::int32_t end = std::min(keys.end, starts.back());
  std::vector<std::int32_t> cuts(starts.begin(), starts.end());
  cuts.insert(cuts.end(), {keys.begin, end});
  if (keys.causal)
    for (const std::int32_t token : tokens) cuts.push_back(token + 1);
  std::ranges::sort(cuts);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const auto block = static_cast<std::int32_t>(std::ranges::upper_bound(starts, cuts[i]) - starts.begin()) - 1;
    if (cuts[i] >= keys.begin && cuts[i + 1] <= end && cuts[i] < cuts[i + 1])
      pieces.push_back({cuts[i], cuts[i + 1], block});
  }
  return pieces;
}

}  // namespace

kernels::ReferenceRows attention_rows(const HeadRows& of, std::span<const std::int32_t> tokens, const KeyChoice& keys) {
  const BlockMask& mask = *of.mask;
  const auto starts = mask.coarse_starts();
  const std::vector<Piece> pieces = pieces_of(starts, tokens, keys);
  std::vector<kernels::RowBlock> q, k, v;
  std::vector<std::int32_t> row_begin = {0}, attended;
  for (const Piece& piece : pieces) {
    k.push_back({of.k + piece.begin * of.k_stride, piece.end - piece.begin, of.k_stride});
    v.push_back({of.v + piece.begin * of.v_stride, piece.end - piece.begin, of.v_stride});
  }
  for (const std::int32_t token : tokens) {
    const auto block = static_cast<std::int32_t>(std::ranges::upper_bound(starts, token) - starts.begin()) - 1;
    const auto active = [&](std::int32_t other) {
      if (keys.mask == KeyChoice::Mask::kAll) return true;
      const bool as_given = keys.mask == KeyChoice::Mask::kAsGiven;
      return as_given ? mask.active(of.head, block, other) : mask.active(of.head, other, block);
    };
    q.push_back({of.q + token * of.q_stride, 1, of.q_stride});
    for (std::size_t p = 0; p < pieces.size(); ++p)
      if (active(pieces[p].block) && (!keys.causal || pieces[p].end <= token + 1))
        attended.push_back(static_cast<std::int32_t>(p));
    row_begin.push_back(static_cast<std::int32_t>(attended.size()));
  }
  const double scale = keys.scale > 0 ? keys.scale : 1.0 / std::sqrt(static_cast<double>(of.head_dim));
  return kernels::reference_attention({.dtype = Dtype::kFp32,
                                       .head_dim = of.head_dim,
                                       .scale = static_cast<float>(scale),
                                       .q = q,
                                       .state = {},
                                       .k = k,
                                       .v = v,
                                       .row_begin = row_begin,
                                       .k_block = attended});
}

}  // namespace spscope
