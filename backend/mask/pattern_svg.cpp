// Pattern `svg`: masks of Sparse VideoGen (SVG1, arXiv 2502.01776). A head is spatial, a band in (frame, y, x) order,
// or temporal, the same band in (y, x, frame) order: diagonals one frame apart in the order of the sequence. All heads
// attend to the first frame. A head may change its class from one denoise step to the next.
//
// Every head has the same number of active blocks, the one nearest to the requested density: pairs of blocks are taken
// by the distance of their centres in the head's order. When the first frame would take more than half of them, only
// its first blocks are taken. The rule is the paper's; the share of temporal heads and how often a head changes are
// assumed.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend/mask/head_evolution.h"
#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

constexpr int kClass = 1;
constexpr float kAlways = std::numeric_limits<float>::infinity();

struct Band {
  std::size_t blocks, sink_blocks;
  std::int64_t count;  // active pairs of video blocks
};

Band band_of(const PatternRequest& request) {
  const auto blocks = static_cast<std::int64_t>(num_video_blocks(request));
  const double density = video_density(request);
  const std::int64_t frame_tokens = std::int64_t{request.grid[1]} * request.grid[2];
  std::int64_t sink = 0;
  if (request.parameters.flag("first_frame") && request.grid[0] > 1) {
    sink = std::min((frame_tokens + request.block - 1) / request.block,
                    static_cast<std::int64_t>(density * static_cast<double>(blocks) / 2));
  }
  const auto wanted = static_cast<std::int64_t>(std::llround(density * static_cast<double>(blocks * blocks)));
  const std::int64_t always = sink * blocks + (blocks - sink);  // the sink and the diagonal
  return {static_cast<std::size_t>(blocks), static_cast<std::size_t>(sink),
          std::clamp(wanted, always, blocks * blocks)};
}

// Places of the block centres in the order of a class.
std::vector<float> centres(const PatternRequest& request, std::size_t blocks, bool temporal) {
  const std::int64_t frames = request.grid[0], frame_tokens = std::int64_t{request.grid[1]} * request.grid[2];
  std::vector<float> places;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * request.block;
    const std::int64_t centre = (begin + std::min(begin + request.block, frames * frame_tokens)) / 2;
    const std::int64_t place = temporal ? centre % frame_tokens * frames + centre / frame_tokens : centre;
    places.push_back(static_cast<float>(place));
  }
  return places;
}

void fill_head(const PatternRequest& request, const Band& band, bool temporal, int head, BlockMask& mask) {
  const std::vector<float> at = centres(request, band.blocks, temporal);
  const ScoreRow score = [&](std::size_t q, std::span<float> row) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = -std::abs(at[q] - at[k]);
    std::fill_n(row.begin(), band.sink_blocks, kAlways);
    row[q] = kAlways;
  };
  CutTaker cut(kth_highest(band.blocks, band.blocks, band.count, score));
  std::vector<float> scores(band.blocks);
  for (std::size_t q = 0; q < band.blocks; ++q) {
    score(q, scores);
    const std::span<std::uint64_t> row = mask.mutable_row(head, static_cast<std::int32_t>(q));
    for (std::size_t k = 0; k < band.blocks; ++k) {
      if (cut.takes(scores[k])) row[k / 64] |= std::uint64_t{1} << (k % 64);
    }
  }
}

void copy_head(int from, int to, BlockMask& mask) {
  for (std::int32_t q = 0; q < mask.blocks(); ++q) {
    std::ranges::copy(mask.row(from, q), mask.mutable_row(to, q).begin());
  }
}

}  // namespace

std::vector<Parameter> parameters_svg() {
  std::vector<Parameter> rows = warmup_parameters();
  rows.push_back(Parameter::real("temporal_share", 0.5, 0, 1, "share of the heads that are temporal"));
  rows.push_back(
      Parameter::real("change", 0.02, 0, 1, "share of the heads whose class is drawn anew at a denoise step"));
  rows.push_back(Parameter::flag("first_frame", true, "every query attends to the first frame"));
  return rows;
}

std::vector<Problem> check_svg(const PatternRequest& request) { return check_request(request); }

BlockMask generate_svg(const PatternRequest& request) {
  if (is_warmup(request)) return all_active(request);
  const Band band = band_of(request);
  BlockMask mask(request.heads, block_starts(request));
  std::array<int, 2> first = {-1, -1};  // the first head of each class
  for (int head = 0; head < request.heads; ++head) {
    const double drawn = redrawn_uniform(request, head, kClass, request.parameters.real("change"));
    const bool temporal = drawn < request.parameters.real("temporal_share");
    int& made = first[temporal ? 1 : 0];
    if (made >= 0) {
      copy_head(made, head, mask);
    } else {
      fill_head(request, band, temporal, head, mask);
      made = head;
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
