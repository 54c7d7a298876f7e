// Pattern `window`: query block i attends to key blocks i - radius to i + radius, to the first `sink_blocks` key blocks
// and to text. All heads are alike. Radius -1 selects the one whose density is nearest to the requested one; a step of
// the radius changes the density by about 2 / blocks, so it is met within 1 / blocks.
#include <cmath>

#include "backend/mask/pattern_parts.h"
#include "backend/mask/selection.h"

namespace spscope {
namespace {

// Active entries of an n x n band with `sink` full columns at the left.
std::int64_t band_entries(std::int64_t n, std::int64_t radius, std::int64_t sink) {
  std::int64_t entries = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = std::max<std::int64_t>(0, i - radius), end = std::min(n, i + radius + 1);
    entries += end - begin + std::min(begin, sink);
  }
  return entries;
}

std::int64_t nearest_radius(std::int64_t n, std::int64_t sink, double density) {
  const double wanted = density * static_cast<double>(n) * static_cast<double>(n);
  std::int64_t low = 0, high = n - 1;  // the smallest radius with at least the wanted entries
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (static_cast<double>(band_entries(n, middle, sink)) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  auto distance = [&](std::int64_t radius) {
    return std::abs(static_cast<double>(band_entries(n, radius, sink)) - wanted);
  };
  return low > 0 && distance(low - 1) <= distance(low) ? low - 1 : low;
}

}  // namespace

std::vector<Parameter> parameters_window() {
  return {Parameter::integer("radius", -1, -1, 1 << 20, "blocks", "key blocks on each side; -1: from mask.density"),
          Parameter::integer("sink_blocks", 0, 0, 1 << 20, "blocks", "first key blocks that every query attends to")};
}

std::vector<Problem> check_window(const PatternRequest& request) { return check_request(request); }

BlockMask generate_window(const PatternRequest& request) {
  BlockMask mask(request.heads, block_starts(request));
  const int blocks = num_video_blocks(request);
  const int sink = std::min(request.parameters.integer("sink_blocks"), blocks);
  std::int64_t radius = request.parameters.integer("radius");
  if (radius < 0) radius = nearest_radius(blocks, sink, video_density(request));
  std::vector<float> scores(blocks);
  for (int q = 0; q < blocks; ++q) {
    for (int k = 0; k < blocks; ++k) scores[k] = k < sink || std::abs(q - k) <= radius ? 1.0F : 0.0F;
    for (int head = 0; head < request.heads; ++head) set_at_least(scores, 1.0F, mask.mutable_row(head, q));
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
